--- The style of every page. Pure.
--
-- Colours are those of Okabe and Ito (2008), which the colour-blind tell apart, lighter on a dark ground. What a colour
-- says a shape, a dot or a text says as well. Paper is light, whatever the reader's screen is.

-- Name, on light, on dark.
local COLOURS = {
   { "bg", "#fff", "#15171a" }, { "ink", "#1b1b1b", "#e9e9e9" }, { "quiet", "#595959", "#a9afb5" },
   { "rule", "#8a8a8a", "#767d85" }, { "grid", "#e4e4e4", "#2c3137" },
   -- What the page is about; what is bad; what may be; out, but not worse.
   { "own", "#0072b2", "#56b4e9" }, { "bad", "#c44e00", "#ff9149" }, { "warn", "#b87a00", "#f0b93a" },
   { "odd", "#007a5a", "#35c79f" },
   { "dot", "#6d7c88", "#8d9daa" }, { "band", "#dcebf5", "#1e2f3c" }, { "pass", "#b9d3e4", "#2f526b" },
   -- Steps of html/heat.
   { "none", "#f6f6f6", "#1b1e22" }, { "h0", "#e6e6e6", "#30353b" },
   { "w1", "#fbdcc0", "#59402c" }, { "w2", "#f0a262", "#a65f22" }, { "w3", "#d55e00", "#ff8a3c" },
   { "b1", "#cfe4f2", "#24435a" }, { "b2", "#7fbce2", "#2f76a5" }, { "b3", "#0072b2", "#56b4e9" },
   -- Shades of html/matrix, and of the text on the last.
   { "s1", "#eef4f9", "#1d2a34" }, { "s2", "#d3e5f2", "#223c4e" }, { "s3", "#a9cde6", "#2a5673" },
   { "s4", "#64a8d3", "#37799f" }, { "s5", "#0072b2", "#56b4e9" }, { "s5t", "#fff", "#15171a" },
}

local function root(column)
   local parts = {}
   for i, colour in ipairs(COLOURS) do
      parts[i] = ("--%s:%s"):format(colour[1], colour[column])
   end
   return ":root{" .. table.concat(parts, ";") .. "}"
end

local function filled()
   local parts = {}
   for i, name in ipairs({ "bad", "own", "warn", "ink", "band", "pass", "h0", "w1", "w2", "w3", "b1", "b2", "b3",
      "s1", "s2", "s3", "s4", "s5", "s5t" }) do
      parts[i] = (".%s{fill:var(--%s)}"):format(name, name)
   end
   return table.concat(parts)
end

return table.concat({
   root(2),
   "@media screen and (prefers-color-scheme:dark){" .. root(3) .. "}",
   "*{box-sizing:border-box}",
   "body{margin:0;background:var(--bg);color:var(--ink);",
   "font:16px/1.5 system-ui,'Segoe UI',Roboto,'Liberation Sans',sans-serif}",
   "main{max-width:880px;margin:0 auto;padding:24px 20px 48px}",
   "h1{font-size:1.05em;font-weight:600;margin:0 0 .3em;color:var(--quiet);overflow-wrap:anywhere}",
   ".answer{font-size:1.35em;line-height:1.35;margin:0 0 .7em;overflow-wrap:anywhere}",
   "h2{font-size:1.1em;margin:2.2em 0 .2em;line-height:1.3;overflow-wrap:anywhere}",
   "p{margin:.3em 0;overflow-wrap:anywhere}",
   ".say,footer{color:var(--quiet);font-size:.9em}",
   "ul{margin:.4em 0;padding-left:1.2em}",
   "li{overflow-wrap:anywhere;margin:.15em 0}",
   ".facts{display:flex;flex-wrap:wrap;gap:.2em 1.6em;margin:0;padding:0;font-size:.9em;list-style:none}",
   ".facts li{max-width:100%;margin:0}",
   ".facts i{color:var(--quiet);font-style:normal}",
   "figure{margin:.8em 0 .4em}",
   ".scroll{overflow-x:auto}",
   ".grid{display:grid;gap:14px 40px;align-items:start;",
   "grid-template-columns:repeat(auto-fill,minmax(min(100%,340px),1fr))}",
   "svg{display:block;width:100%;height:auto;overflow:visible}",
   "svg.w{min-width:620px}",
   "details{margin:.3em 0;font-size:.9em}",
   "summary{cursor:pointer;color:var(--own)}",
   "table{border-collapse:collapse;font-size:.95em;font-variant-numeric:tabular-nums;margin:.4em 0}",
   "th,td{padding:.15em .8em .15em 0;text-align:left;vertical-align:top}",
   "th{color:var(--quiet);font-weight:600;border-bottom:1px solid var(--rule)}",
   "td{border-bottom:1px solid var(--grid);white-space:nowrap}",
   "td.p{white-space:normal;overflow-wrap:anywhere;min-width:15em;max-width:34em}",
   ".l1 tr>:nth-child(n+2),.l2 tr>:nth-child(n+3),.l3 tr>:nth-child(n+4),.l4 tr>:nth-child(n+5){text-align:right}",
   "td b{color:var(--bad)}",
   "footer{margin-top:3em;border-top:1px solid var(--grid);padding-top:.6em}",
   "text{font-size:12px;fill:var(--ink);text-anchor:start}",
   ".m{text-anchor:middle}.e{text-anchor:end}.q{fill:var(--quiet)}.h{font-weight:600}",
   ".a,.g,.l,.r,.stem,path.m,.cross{fill:none;stroke:var(--rule)}",
   ".g{stroke:var(--grid)}path.m{stroke:var(--ink)}.r{stroke:var(--ink);stroke-dasharray:4 3}",
   ".l,.stem{stroke:var(--own);stroke-width:1.6}.l.t{stroke-width:1.2}",
   ".d,.d1{fill:none;stroke:var(--dot);stroke-width:4.4;stroke-linecap:round}.d1{stroke-width:2}",
   filled(),
   ".f{fill:var(--dot)}.o{fill:var(--ink)}.none{fill:var(--none);stroke:var(--grid)}",
   ".odd{fill:var(--bg);stroke:var(--odd);stroke-width:2}.ring{fill:var(--bg);stroke:var(--ink)}",
   ".cross{stroke:var(--bad);stroke-width:2}",
   ".x{fill:none;pointer-events:all}.x:hover{stroke:var(--ink)}",
   "@media print{@page{margin:14mm}main{max-width:none;padding:0}body{font-size:10.5pt}",
   "section{break-inside:avoid}section.long{break-inside:auto}h2{break-after:avoid}.scroll{overflow:visible}",
   "svg.w{min-width:0}details:not([open]){display:none}summary{list-style:none}",
   ".grid{grid-template-columns:1fr 1fr}*{print-color-adjust:exact;-webkit-print-color-adjust:exact}}",
}, "\n")
