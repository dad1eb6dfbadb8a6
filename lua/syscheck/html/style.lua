--- The style of every page. Pure.
--
-- Colours are those of Okabe and Ito (2008), which the colour-blind tell apart, lighter on a dark ground; what a colour
-- says a shape, a dot or a text says as well. Paper is light, whatever the reader's screen is.
return [[
:root{--bg:#fff;--ink:#1b1b1b;--quiet:#595959;--rule:#8a8a8a;--grid:#e4e4e4;--own:#0072b2;--bad:#c44e00;--odd:#007a5a;
--warn:#b87a00;--band:#e3eef6;--dot:#6d7c88;--none:#f6f6f6;--h0:#e6e6e6;--w1:#fbdcc0;--w2:#f0a262;--w3:#d55e00;--b1:#cfe4f2;
--b2:#7fbce2;--b3:#0072b2;--s1:#eef4f9;--s2:#c9dfef;--s3:#f7d3b5;--s4:#eda163;--s5:#d55e00;--s5t:#fff;--pass:#b9d3e4}
@media screen and (prefers-color-scheme:dark){:root{--bg:#15171a;--ink:#e9e9e9;--quiet:#a9afb5;--rule:#767d85;--grid:#2c3137;
--own:#56b4e9;--bad:#ff9149;--odd:#35c79f;--warn:#f0b93a;--band:#1e2f3c;--dot:#8d9daa;--none:#1b1e22;--h0:#30353b;--w1:#59402c;
--w2:#a65f22;--w3:#ff8a3c;--b1:#24435a;--b2:#2f76a5;--b3:#56b4e9;--s1:#20303c;--s2:#2a4a61;--s3:#5f4127;--s4:#a05d24;
--s5:#ff8a3c;--s5t:#15171a;--pass:#2f526b}}
*{box-sizing:border-box}
body{margin:0;background:var(--bg);color:var(--ink);font:16px/1.5 system-ui,"Segoe UI",Roboto,"Liberation Sans",sans-serif}
main{max-width:880px;margin:0 auto;padding:24px 20px 48px}
h1{font-size:1.05em;font-weight:600;margin:0 0 .3em;color:var(--quiet);overflow-wrap:anywhere}
.answer{font-size:1.35em;line-height:1.35;margin:0 0 .7em;overflow-wrap:anywhere}
h2{font-size:1.1em;margin:2.2em 0 .2em;line-height:1.3}
p{margin:.3em 0;overflow-wrap:anywhere}
.say,footer,figcaption{color:var(--quiet);font-size:.9em}
.facts{display:flex;flex-wrap:wrap;gap:.2em 1.6em;margin:0;padding:0;font-size:.9em;list-style:none}
.facts li{max-width:100%;margin:0}
.facts i{color:var(--quiet);font-style:normal}
ul{margin:.4em 0;padding-left:1.2em}
li{overflow-wrap:anywhere;margin:.15em 0}
figure{margin:.8em 0 .4em}
.scroll{overflow-x:auto}
.grid{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,340px),1fr));gap:14px 40px;align-items:start}
svg{display:block;width:100%;height:auto;overflow:visible}
svg.w{min-width:620px}
svg.n{max-width:420px}
details{margin:.3em 0;font-size:.9em}
summary{cursor:pointer;color:var(--own)}
table{border-collapse:collapse;font-size:.95em;font-variant-numeric:tabular-nums;margin:.4em 0}
th,td{padding:.15em .8em .15em 0;text-align:left;vertical-align:top}
th{color:var(--quiet);font-weight:600;border-bottom:1px solid var(--rule)}
td{border-bottom:1px solid var(--grid);overflow-wrap:anywhere;min-width:3.5em}
.l1 tr>:nth-child(n+2),.l2 tr>:nth-child(n+3),.l3 tr>:nth-child(n+4),.l4 tr>:nth-child(n+5){text-align:right}
td b{color:var(--bad)}
footer{margin-top:3em;border-top:1px solid var(--grid);padding-top:.6em}
text{font-size:12px;fill:var(--ink);text-anchor:start}
.m{text-anchor:middle}.e{text-anchor:end}.q{fill:var(--quiet)}.h{font-weight:600}
path.m{stroke:var(--ink);stroke-width:1;fill:none}
.a,.g,.l,.r,.stem{fill:none;stroke:var(--rule)}
.g{stroke:var(--grid)}
.l{stroke:var(--own);stroke-width:1.6}.l.t{stroke-width:1.2}
.r{stroke:var(--ink);stroke-dasharray:4 3}
.stem{stroke:var(--own);stroke-width:1.6}
.d{fill:none;stroke:var(--dot);stroke-width:4.4;stroke-linecap:round}
.d1{fill:none;stroke:var(--dot);stroke-width:2;stroke-linecap:round}
.f{fill:var(--dot)}
.band{fill:var(--band)}
.bad{fill:var(--bad)}.own{fill:var(--own)}.warn{fill:var(--warn)}.ink{fill:var(--ink)}
.odd{fill:var(--bg);stroke:var(--odd);stroke-width:2}
.x{fill:none;pointer-events:all}.x:hover{stroke:var(--ink)}
.o{fill:var(--ink)}.ring{fill:var(--bg);stroke:var(--ink)}
.none{fill:var(--none);stroke:var(--grid)}
.pass{fill:var(--pass)}
.h0{fill:var(--h0)}.w1{fill:var(--w1)}.w2{fill:var(--w2)}.w3{fill:var(--w3)}.b1{fill:var(--b1)}.b2{fill:var(--b2)}.b3{fill:var(--b3)}
.s1{fill:var(--s1)}.s2{fill:var(--s2)}.s3{fill:var(--s3)}.s4{fill:var(--s4)}.s5{fill:var(--s5)}.s5t{fill:var(--s5t)}
.cross{fill:none;stroke:var(--bad);stroke-width:2}
@media print{@page{margin:14mm}main{max-width:none;padding:0}body{font-size:10.5pt}section{break-inside:avoid}h2{break-after:avoid}
section.long{break-inside:auto}.scroll{overflow:visible}svg.w{min-width:0}details:not([open]){display:none}summary{list-style:none}
*{print-color-adjust:exact;-webkit-print-color-adjust:exact}.grid{grid-template-columns:1fr 1fr}}
]]
