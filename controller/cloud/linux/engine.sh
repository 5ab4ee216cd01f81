# What the controller does on a machine, as root, with $verb and $dir set: state, programs, start, remove.
# Everything is below $dir but the unit of systemd. Any POSIX shell will do.
set -eu
unit=weir-engine.service
unit_file=${units:-/etc/systemd/system}/$unit

has_systemd() { [ -d "${systemd:-/run/systemd/system}" ]; }

# The processes that were told to work in the engine's directory, the agent and its data plane, or those of them whose
# command line holds $1.
processes() {
	for line in /proc/[0-9]*/cmdline; do
		case " $(tr '\0' ' ' <"$line" 2>/dev/null || true)" in
		*"${1-}"*" $dir/engine "* | *"${1-}"*" $dir/engine/"*) pid=${line#/proc/} && echo "${pid%/cmdline}" ;;
		esac
	done
}

runs() {
	if has_systemd; then systemctl is-active --quiet $unit; else [ -n "$(processes "weir agent ")" ]; fi
}

until_gone() {
	for _ in $(seq 150); do
		[ -n "$(processes)" ] || return 0
		sleep 0.1
	done
	return 1
}

command_line() {
	echo "$dir/bin/weir agent --name $name --controller $controller --token $token" \
		"--state-dir $dir/engine --workers $workers --vip-interface lo"
}

case $verb in
state)
	if runs; then
		echo running
	elif [ -d "$dir/engine" ]; then
		echo "stopped $(tail -n 1 "$dir/agent.log" 2>/dev/null || true)"
	else
		echo free
	fi
	;;
programs)
	mkdir -p "$dir/bin"
	cd "$dir/bin" && sha256sum weir weir-dataplane 2>/dev/null || true
	;;
start)
	mkdir -p "$dir/engine"
	chmod 700 "$dir/engine"
	if has_systemd; then
		(umask 077 && cat >"$unit_file") <<-UNIT
			[Unit]
			Description=Weir engine $name
			Wants=network-online.target
			After=network-online.target

			[Service]
			ExecStart=$(command_line)
			StandardOutput=append:$dir/agent.log
			StandardError=append:$dir/agent.log
			Restart=always
			RestartSec=1
			LimitNOFILE=1048576
			KillMode=mixed
			TimeoutStopSec=30

			[Install]
			WantedBy=multi-user.target
		UNIT
		systemctl daemon-reload
		systemctl enable --quiet $unit
		systemctl restart $unit
	else
		(umask 077 && : >>"$dir/agent.log")
		# shellcheck disable=SC2046
		setsid $(command_line) >>"$dir/agent.log" 2>&1 </dev/null &
	fi
	;;
remove)
	if has_systemd && [ -f "$unit_file" ]; then
		systemctl disable --quiet --now $unit
		rm -f "$unit_file"
		systemctl daemon-reload
	fi
	# shellcheck disable=SC2046
	[ -z "$(processes)" ] || kill $(processes) || true
	# shellcheck disable=SC2046
	until_gone || kill -9 $(processes) || true
	until_gone || { echo "its processes do not end" >&2; exit 1; }
	rm -rf "$dir/engine" "$dir/bin" "$dir/agent.log"
	rmdir "$dir" 2>/dev/null || true
	;;
esac
