#!/usr/bin/env bats
# What helps at the prompt: completion for bash and zsh, man pages.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154

bats_require_minimum_version 1.5.0
load helpers

setup_file() {
	export P=$BATS_FILE_TMPDIR/p
	make -s -C "$ROOT" install PREFIX="$P" DESTDIR= >/dev/null
}

setup() {
	PATH=$P/bin:$PATH
	BASH_FILE=$P/share/bash-completion/completions/syscheck
	ZSH_DIR=$P/share/zsh/site-functions
}

teardown() { :; }
teardown_file() { :; }

# offered WORD... : what bash offers for the last one, a word a line
offered() {
	bash --norc --noprofile -c '
		source "$1"
		COMP_WORDS=(syscheck "${@:2}") COMP_CWORD=$(($# - 1))
		"$(complete -p syscheck | sed "s/.*-F \([^ ]*\) .*/\1/")"
		printf "%s\n" "${COMPREPLY[@]}"' bash "$BASH_FILE" "$@"
}

# commands: every command, with its action where it has some, as --help names them
commands() {
	local name action
	syscheck --help | sed -n '/^Commands:/,/^$/s/^   \([a-z]\+\) .*/\1/p' | while read -r name; do
		echo "$name"
		syscheck "$name" --help | sed -n '/^Commands:/,/^$/s/^   \([a-z]\+\) .*/\1/p' | while read -r action; do
			echo "$name $action"
		done
	done
}

# options [COMMAND...]: its long options, as --help names them
options() {
	syscheck "$@" --help | sed '/^Usage:/,/^$/d' | grep -oE '^ +(-[a-z], )?--[a-z-]+' | sed 's/.* //' | sort -u
}

@test "bash: commands, options, levels, files" {
	[ "$(offered '' | grep -cx -e run -e node -e store)" = 3 ]
	[ "$(offered conf)" = config ]
	# A whole word is one, too: the blank behind it is typed for you.
	[ "$(offered why)" = why ]
	[ "$(offered baseline le)" = learn ]
	[ "$(offered run --level '')" = $'none\npassive\nquick\nfull' ]
	[ "$(offered run --level = q)" = quick ]
	[ "$(offered run --le)" = --level ]
	[ "$(offered config show --q)" = --qos ]
	[ "$(offered --vers)" = --version ]
	# A value that is also a command's name.
	[ "$(offered node --cluster job --lim)" = --limit ]
	# What nobody can know here: a time, a name. What is hidden.
	[ -z "$(offered node --since '')" ]
	[ -z "$(offered ship --work)" ]
	[ -z "$(offered --completion)" ]
	mkdir "$BATS_TEST_TMPDIR/a dir"
	touch "$BATS_TEST_TMPDIR/a file"
	[ "$(offered config check --policy "$BATS_TEST_TMPDIR/a" | sort)" = "$BATS_TEST_TMPDIR/a dir"$'\n'"$BATS_TEST_TMPDIR/a file" ]
	[ "$(offered job --spool "$BATS_TEST_TMPDIR/a")" = "$BATS_TEST_TMPDIR/a dir" ]
	[ "$(offered baseline diff x.json "$BATS_TEST_TMPDIR/a f")" = "$BATS_TEST_TMPDIR/a file" ]
}

@test "bash: every command and option of --help, and no other" {
	local -a c
	commands >"$BATS_TEST_TMPDIR/commands"
	[ "$(wc -l <"$BATS_TEST_TMPDIR/commands")" -ge 20 ]
	diff <(grep -v ' ' "$BATS_TEST_TMPDIR/commands" | sort) <(offered '' | sort)
	while read -r -a c; do
		diff <(options "${c[@]}") <(offered "${c[@]}" -- | sort -u) || { echo "${c[*]}"; return 1; }
	done <"$BATS_TEST_TMPDIR/commands"
	shellcheck -s bash -e SC1007 "$BASH_FILE"
}

@test "zsh: every command and option of --help, with what it does" {
	local -a c
	local name
	command -v zsh >/dev/null || skip "no zsh"
	zsh -n "$ZSH_DIR/_syscheck"
	commands >"$BATS_TEST_TMPDIR/commands"
	while read -r -a c; do
		grep -qE "^ +'${c[-1]}:[A-Z]" "$ZSH_DIR/_syscheck" || { echo "${c[*]}"; return 1; }
		IFS=_ eval 'name="_syscheck_${c[*]}()"'
		sed -n "/^$name/,/^}/p" "$ZSH_DIR/_syscheck" >"$BATS_TEST_TMPDIR/function"
		diff <(options "${c[@]}") <(grep -oE -- '(\)|\*)--[a-z-]+=?\[[^]]{5,}\]' "$BATS_TEST_TMPDIR/function" |
			grep -oE -- '--[a-z-]+' | sort -u) || { echo "${c[*]}"; return 1; }
	done <"$BATS_TEST_TMPDIR/commands"
}

# typed TEXT: the command line that a real zsh makes of it
typed() {
	timeout 60 zsh -f -s "$ZSH_DIR" "$1" <<-'ZSH'
		zmodload zsh/zpty
		zpty -b z zsh -f -i
		zpty -w z "PS1= fpath=(${(q)1} \$fpath); autoload -Uz compinit; compinit -D -u; stty -echo; echo re''ady"
		until zpty -r -m z line '*ready*'; do sleep 0.05; done
		zpty -w z "show() { print -r -- \"<\$BUFFER>\"; BUFFER= ; zle accept-line }; zle -N show; bindkey '^X' show; echo re''ady"
		until zpty -r -m z line '*ready*'; do sleep 0.05; done
		zpty -w -n z "$2"$'\t'
		sleep 0.3
		zpty -w -n z $'\x18'
		until zpty -r -m z line '*<*>*'; do sleep 0.05; done
		print -r -- ${${line##*<}%%>*}
	ZSH
}

@test "zsh: it completes" {
	command -v zsh >/dev/null || skip "no zsh"
	[ "$(typed 'syscheck run --level qu')" = 'syscheck run --level quick ' ]
	[ "$(typed 'syscheck suspe')" = 'syscheck suspects ' ]
	[ "$(typed 'syscheck config sh')" = 'syscheck config show ' ]
	[ "$(typed 'syscheck config show --ac')" = 'syscheck config show --account=' ]
}

# pages: as man -k shows them, of both programs that are in use
pages() {
	find "$ROOT/docs/man" -name '*.[158]' -printf '%f\n' | sed 's/^\(.*\)\.\(.\)$/\1 (\2)/' | sort
}

@test "man -k syscheck finds each page, with what it is about" {
	local dir=$BATS_TEST_TMPDIR/man
	cp -r "$P/share/man" "$dir"
	mandb -q -c "$dir"
	man -M "$dir" -k syscheck | tee "$BATS_TEST_TMPDIR/man-db"
	diff <(pages) <(sed 's/  *- .*//' "$BATS_TEST_TMPDIR/man-db" | tr -s ' ' | sort)
	grep -q 'unknown subject' "$BATS_TEST_TMPDIR/man-db" && return 1
	# mandoc's, as on Alpine and the BSDs; Debian calls it mapropos.
	makewhatis "$dir"
	"$(command -v mapropos || command -v apropos)" -M "$dir" syscheck | tee "$BATS_TEST_TMPDIR/mandoc"
	[ "$(sed 's/(\(.\)) - .*/ (\1)/' "$BATS_TEST_TMPDIR/mandoc" | grep -cxFf <(pages))" -eq "$(pages | wc -l)" ]
}

# synopsis COMMAND [ACTION]: the long options that its page's synopsis has
synopsis() {
	local page=$ROOT/docs/man/syscheck.1
	[ "$1" != ship ] || page=$ROOT/docs/man/syscheck-ship.8
	sed -n '/^\.Sh SYNOPSIS/,/^\.Sh DESCRIPTION/p' "$page" | tr '\n' ' ' | sed 's/\.Nm/\n&/g' |
		grep -E "^\.Nm (syscheck )?(\.Cm )?$1 (.*\<$2\>)?" | sed 's/\.Op Ar answer/Fl -json Fl -csv Fl -html Fl -store/' | grep -oE 'Fl -[a-z-]+' | sed 's/Fl /-/'
	# Of all of them, it says there.
	grep -q 'take.*\.Fl -policy' < <(tr '\n' ' ' <"$page") && [ "$1 $2" != 'baseline diff' ] && echo --policy
	return 0
}

@test "man: every command of --help has its place, every option is in its synopsis" {
	local -a c
	commands >"$BATS_TEST_TMPDIR/commands"
	while read -r -a c; do
		grep -qE "^\.It Cm ${c[0]}\>" "$ROOT/docs/man/syscheck.1" || { echo "no section: ${c[*]}"; return 1; }
		[ "${#c[@]}" = 1 ] || grep -qE "^\.It Cm ${c[0]}\>.*\<${c[1]}\>" "$ROOT/docs/man/syscheck.1" ||
			{ echo "no section: ${c[*]}"; return 1; }
		[ -z "$(comm -23 <(options "${c[@]}" | grep -vx -e --help) <(synopsis "${c[0]}" "${c[1]-}" | sort -u) | tee /dev/stderr)" ] ||
			{ echo "not in the synopsis of: ${c[*]}"; return 1; }
	done <"$BATS_TEST_TMPDIR/commands"
}
