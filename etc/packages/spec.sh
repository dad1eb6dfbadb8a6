#!/bin/bash
# spec.sh VERSION: prints syscheck.spec of that version, with its scripts.
set -eu
here=$(dirname "$0")
while IFS= read -r line; do
	if [[ $line =~ ^@(postinst|prerm|postrm)\ (.*)@$ ]]; then
		"$here/scripts.sh" "${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}" | grep -v '^#!'
	else
		printf '%s\n' "${line//@VERSION@/"$1"}"
	fi
done <"$here/syscheck.spec.in"
