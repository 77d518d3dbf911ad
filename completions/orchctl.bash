# bash completion for orchctl; made by 'python -m tests.generate', not by hand

# what there is to the command $1
_orchctl_about() {
    nodes= options= arguments=
    case "$1" in
        '')
            nodes='spawn exec list ls ps info show inspect top stats tail logs search screen export attach send history wait expect interrupt pending approve deny answer harness rename label signal resize pause unpause restart lease kill stop kill-by-manager verify events prune rm audit limits config doctor supervisor completion schema'
            options='--host --verbose --color --no-autostart -V --version -h --help'
            ;;
        'spawn')
            options='--name -m --manager -b --backend --prompt --model --profile --permission --resume --shell -w --cwd --size -e --env --env-file -l --label --timeout --idle-timeout --bind-pid --restart --if-exists --no-pty --stdin --rm --wait --follow --attach --id-file --json --template -q --quiet -h --help'
            arguments='command...'
            ;;
        'exec')
            options='-c --script -w --cwd -e --env --stdin --tty-stdin --pipe --raw --timeout --kill-after --max-output --wait-prompt --lease --lease-wait --detach --once --no-wait-input --no-record --json --template -q --quiet -h --help'
            arguments='live command...'
            ;;
        'list')
            options='-a --all --sort --group-by --watch -m --manager -l --label --repo --json --template -q --quiet -h --help'
            arguments='live-many...'
            ;;
        'info')
            options='--env --json --template -q --quiet -h --help'
            arguments='any'
            ;;
        'top')
            options='--once -m --manager -l --label --repo --all --json --template -q --quiet -h --help'
            arguments='live-many...'
            ;;
        'tail')
            options='-f --follow -n --tail --since --until -t --times --prefix --stream --raw --plain --command --exit-status -m --manager -l --label --repo --all --json --template -q --quiet -h --help'
            arguments='any-many...'
            ;;
        'search')
            options='-F --fixed-strings -E --regex -i --ignore-case -n --line-number -A --after-context -B --before-context -C --context --since -c --count --max -m --manager -l --label --repo --all --json --template -q --quiet -h --help'
            arguments='text any-many...'
            ;;
        'screen')
            options='--as --json --template -q --quiet -h --help'
            arguments='any'
            ;;
        'export')
            options='--as -o --output --json --template -q --quiet -h --help'
            arguments='any'
            ;;
        'attach')
            options='--read-only --take --detach-keys --json --template -q --quiet -h --help'
            arguments='live'
            ;;
        'send')
            options='--key --no-enter --paste --stdin --hex --eof --once --lease --lease-wait --json --template -q --quiet -h --help'
            arguments='live text...'
            ;;
        'history')
            options='--failed --json --template -q --quiet -h --help'
            arguments='any'
            ;;
        'wait')
            options='--for --any --since --new --timeout -m --manager -l --label --repo --all --json --template -q --quiet -h --help'
            arguments='any-many...'
            ;;
        'expect')
            options='--timeout --json --template -q --quiet -h --help'
            arguments='live text...'
            ;;
        'interrupt')
            options='--json --template -q --quiet -h --help'
            arguments='live'
            ;;
        'pending')
            options='--json --template -q --quiet -h --help'
            arguments='live-many...'
            ;;
        'approve')
            options='--request --always --json --template -q --quiet -h --help'
            arguments='live'
            ;;
        'deny')
            options='--request --json --template -q --quiet -h --help'
            arguments='live'
            ;;
        'answer')
            options='--request --json --template -q --quiet -h --help'
            arguments='live text'
            ;;
        'harness')
            nodes='list'
            options='-h --help'
            ;;
        'harness list')
            options='--json --template -q --quiet -h --help'
            ;;
        'rename')
            options='--none --json --template -q --quiet -h --help'
            arguments='any text'
            ;;
        'label')
            options='--remove --set -m --manager -l --label --repo --all --json --template -q --quiet -h --help'
            arguments='any-many...'
            ;;
        'signal')
            options='-m --manager -l --label --repo --all --json --template -q --quiet -h --help'
            arguments='live-many... =ABRT,ALRM,BUS,CHLD,CONT,FPE,HUP,ILL,INT,KILL,PIPE,PROF,QUIT,SEGV,STOP,SYS,TERM,TRAP,TSTP,TTIN,TTOU,URG,USR1,USR2,VTALRM,WINCH,XCPU,XFSZ'
            ;;
        'resize')
            options='--lease -m --manager -l --label --repo --all --json --template -q --quiet -h --help'
            arguments='live-many... text'
            ;;
        'pause')
            options='-m --manager -l --label --repo --all --json --template -q --quiet -h --help'
            arguments='live-many...'
            ;;
        'unpause')
            options='-m --manager -l --label --repo --all --json --template -q --quiet -h --help'
            arguments='live-many...'
            ;;
        'restart')
            options='--grace -m --manager -l --label --repo --all --json --template -q --quiet -h --help'
            arguments='any-many...'
            ;;
        'lease')
            nodes='release show take transfer'
            options='-h --help'
            ;;
        'lease release')
            options='--lease --json --template -q --quiet -h --help'
            arguments='live'
            ;;
        'lease show')
            options='--lease --json --template -q --quiet -h --help'
            arguments='live'
            ;;
        'lease take')
            options='--ttl --force --wait --lease --json --template -q --quiet -h --help'
            arguments='live'
            ;;
        'lease transfer')
            options='--to --return --lease --json --template -q --quiet -h --help'
            arguments='live'
            ;;
        'kill')
            options='-s --signal --grace --dry-run -m --manager -l --label --repo --all --json --template -q --quiet -h --help'
            arguments='live-many...'
            ;;
        'kill-by-manager')
            options='--exact --grace --dry-run --json --template -q --quiet -h --help'
            arguments='managers'
            ;;
        'verify')
            options='--json --template -q --quiet -h --help'
            arguments='any-by-name...'
            ;;
        'events')
            options='-f --follow --since --type --exec -m --manager -l --label --repo --all --json --template -q --quiet -h --help'
            arguments='any-many...'
            ;;
        'prune')
            options='--older-than --size --output --dry-run -m --manager -l --label --repo --all --json --template -q --quiet -h --help'
            arguments='any-many...'
            ;;
        'audit')
            options='--verify --head --since --json --template -q --quiet -h --help'
            arguments='any-many...'
            ;;
        'limits')
            options='--json --template -q --quiet -h --help'
            arguments='managers'
            ;;
        'config')
            nodes='check get path set show unset'
            options='-h --help'
            ;;
        'config check')
            options='--json --template -q --quiet -h --help'
            ;;
        'config get')
            options='--json --template -q --quiet -h --help'
            arguments='text'
            ;;
        'config path')
            options='--set --json --template -q --quiet -h --help'
            ;;
        'config set')
            options='--json --template -q --quiet -h --help'
            arguments='text text'
            ;;
        'config show')
            options='--origin --json --template -q --quiet -h --help'
            ;;
        'config unset')
            options='--json --template -q --quiet -h --help'
            arguments='text'
            ;;
        'doctor')
            options='--json --template -q --quiet -h --help'
            ;;
        'supervisor')
            nodes='logs restart run start status stop'
            options='-h --help'
            ;;
        'supervisor logs')
            options='-f --follow -n --lines --json --template -q --quiet -h --help'
            ;;
        'supervisor restart')
            options='--json --template -q --quiet -h --help'
            ;;
        'supervisor run')
            options='-h --help'
            ;;
        'supervisor start')
            options='--json --template -q --quiet -h --help'
            ;;
        'supervisor status')
            options='--json --template -q --quiet -h --help'
            ;;
        'supervisor stop')
            options='--kill --leave --json --template -q --quiet -h --help'
            ;;
        'completion')
            options='--json --template -q --quiet -h --help'
            arguments='=bash,zsh,fish'
            ;;
        'schema')
            options='--json --template -q --quiet -h --help'
            arguments='=session,sessions,done-to,result,history,tail,event,search,screen,export,wait,expected,sent,interrupted,lease,lease-taken,lease-released,lease-transferred,pending,replied,harnesses,kill,pruned,verify,supervisor,supervisor-stopped,supervisor-restarted,supervisor-log,audit,limits,settings,setting,settings-path,settings-check,doctor,completion,error'
            ;;
    esac
}

# what option $2 of the command $1 takes; fails if nothing
_orchctl_value() {
    case "$1 $2" in
        ' --host')
            value='=local,ephemeral'
            ;;
        ' --color')
            value='=auto,always,never'
            ;;
        'spawn --name' | 'spawn --prompt' | 'spawn --model' | 'spawn --profile' | 'spawn --resume' | 'spawn --size' | 'spawn -e' | 'spawn --env' | 'spawn -l' | 'spawn --label' | 'spawn --timeout' | 'spawn --idle-timeout' | 'spawn --bind-pid' | 'spawn --template' | 'exec -c' | 'exec -e' | 'exec --env' | 'exec --timeout' | 'exec --kill-after' | 'exec --max-output' | 'exec --wait-prompt' | 'exec --lease' | 'exec --lease-wait' | 'exec --once' | 'exec --template' | 'list -l' | 'list --label' | 'list --template' | 'info --template' | 'top -l' | 'top --label' | 'top --template' | 'tail --since' | 'tail --until' | 'tail --command' | 'tail -l' | 'tail --label' | 'tail --template' | 'search -A' | 'search --after-context' | 'search -B' | 'search --before-context' | 'search -C' | 'search --context' | 'search --since' | 'search --max' | 'search -l' | 'search --label' | 'search --template' | 'screen --template' | 'export --template' | 'attach --detach-keys' | 'attach --template' | 'send --key' | 'send --once' | 'send --lease' | 'send --lease-wait' | 'send --template' | 'history --template' | 'wait --since' | 'wait --timeout' | 'wait -l' | 'wait --label' | 'wait --template' | 'expect --timeout' | 'expect --template' | 'interrupt --template' | 'pending --template' | 'approve --request' | 'approve --template' | 'deny --request' | 'deny --template' | 'answer --request' | 'answer --template' | 'harness list --template' | 'rename --template' | 'label --remove' | 'label --set' | 'label -l' | 'label --label' | 'label --template' | 'signal -l' | 'signal --label' | 'signal --template' | 'resize --lease' | 'resize -l' | 'resize --label' | 'resize --template' | 'pause -l' | 'pause --label' | 'pause --template' | 'unpause -l' | 'unpause --label' | 'unpause --template' | 'restart --grace' | 'restart -l' | 'restart --label' | 'restart --template' | 'lease release --lease' | 'lease release --template' | 'lease show --lease' | 'lease show --template' | 'lease take --ttl' | 'lease take --wait' | 'lease take --lease' | 'lease take --template' | 'lease transfer --to' | 'lease transfer --lease' | 'lease transfer --template' | 'kill --grace' | 'kill -l' | 'kill --label' | 'kill --template' | 'kill-by-manager --grace' | 'kill-by-manager --template' | 'verify --template' | 'events --since' | 'events --exec' | 'events -l' | 'events --label' | 'events --template' | 'prune --older-than' | 'prune --size' | 'prune -l' | 'prune --label' | 'prune --template' | 'audit --head' | 'audit --since' | 'audit --template' | 'limits --template' | 'config check --template' | 'config get --template' | 'config path --template' | 'config set --template' | 'config show --template' | 'config unset --template' | 'doctor --template' | 'supervisor logs --template' | 'supervisor restart --template' | 'supervisor start --template' | 'supervisor status --template' | 'supervisor stop --template' | 'completion --template' | 'schema --template')
            value='text'
            ;;
        'spawn -m' | 'spawn --manager' | 'list -m' | 'list --manager' | 'top -m' | 'top --manager' | 'tail -m' | 'tail --manager' | 'search -m' | 'search --manager' | 'wait -m' | 'wait --manager' | 'label -m' | 'label --manager' | 'signal -m' | 'signal --manager' | 'resize -m' | 'resize --manager' | 'pause -m' | 'pause --manager' | 'unpause -m' | 'unpause --manager' | 'restart -m' | 'restart --manager' | 'kill -m' | 'kill --manager' | 'events -m' | 'events --manager' | 'prune -m' | 'prune --manager')
            value='managers'
            ;;
        'spawn -b' | 'spawn --backend')
            value='=pty,pipe,acp,claude,codex,opencode'
            ;;
        'spawn --permission')
            value='=ask,allow,deny'
            ;;
        'spawn --shell' | 'spawn --env-file' | 'spawn --id-file' | 'exec --script' | 'list --repo' | 'top --repo' | 'tail --repo' | 'search --repo' | 'export -o' | 'export --output' | 'wait --repo' | 'label --repo' | 'signal --repo' | 'resize --repo' | 'pause --repo' | 'unpause --repo' | 'restart --repo' | 'kill --repo' | 'events --repo' | 'prune --repo' | 'config path --set')
            value='file'
            ;;
        'spawn -w' | 'spawn --cwd' | 'exec -w' | 'exec --cwd')
            value='folder'
            ;;
        'spawn --restart')
            value='=no,on-failure,always'
            ;;
        'spawn --if-exists')
            value='=error,reuse,skip'
            ;;
        'list --sort')
            value='=created,name,manager,state,time,ended,cpu,memory,output'
            ;;
        'list --group-by')
            value='=repo,manager'
            ;;
        'tail -n' | 'tail --tail' | 'supervisor logs -n' | 'supervisor logs --lines')
            value='=all'
            ;;
        'tail --stream')
            value='=out,err'
            ;;
        'screen --as')
            value='=text,ansi,json'
            ;;
        'export --as')
            value='=asciicast,raw,text,jsonl'
            ;;
        'wait --for')
            value='=exit,command,prompt,input,quiet,state=,output='
            ;;
        'kill -s' | 'kill --signal')
            value='=ABRT,ALRM,BUS,CHLD,CONT,FPE,HUP,ILL,INT,KILL,PIPE,PROF,QUIT,SEGV,STOP,SYS,TERM,TRAP,TSTP,TTIN,TTOU,URG,USR1,USR2,VTALRM,WINCH,XCPU,XFSZ'
            ;;
        'events --type')
            value='=session.state,output,command,input,error,gap,lease,limit,turn,tool,reasoning,needs-input,answered,checkpoint'
            ;;
        *) return 1 ;;
    esac
}

# the command $2 below the command $1, in $path
_orchctl_alias() {
    case "$1 $2" in
        ' ls') path='list' ;;
        ' ps') path='list' ;;
        ' show') path='info' ;;
        ' inspect') path='info' ;;
        ' logs') path='tail' ;;
        ' stats') path='top' ;;
        ' rm') path='prune' ;;
        ' stop') path='kill' ;;
        *) path=${1:+$1 }$2 ;;
    esac
}

# the candidates for sessions and managers: orchctl tells them and never starts anything for it
_orchctl_ask() {
    local name about width=0 program=${words[0]/#\~/$HOME}
    local -a names=() abouts=()
    type -P -- "$program" >/dev/null || program=orchctl
    while IFS=$'\t' read -r name about; do
        [[ $name == "$cur"* ]] || continue
        names+=("$name") abouts+=("$about")
        ((${#name} > width)) && width=${#name}
    done < <("$program" completion --candidates "$1" --word "$cur" </dev/null 2>/dev/null)
    compopt -o nosort
    local i
    for i in "${!names[@]}"; do
        # only where the list is shown and nothing of it can be taken into the line
        if ((${#names[@]} > 1)) && [[ $COMP_TYPE == 9 || $COMP_TYPE == 63 ]] && [[ ${abouts[i]} ]]; then
            printf -v name '%-*s  (%s)' "$width" "${names[i]}" "${abouts[i]}"
        else
            name=${names[i]}
        fi
        COMPREPLY+=("$name")
    done
}

# what may stand here, in COMPREPLY
_orchctl_offer() {
    local IFS=$' \t\n'
    case $1 in
        '' | text) ;;
        file) compopt -o default ;;
        folder) compopt -o dirnames ;;
        =*)
            local list=${1#=}
            mapfile -t COMPREPLY < <(compgen -W "${list//,/ }" -- "$cur")
            [[ ${COMPREPLY[*]} != *= ]] || compopt -o nospace
            ;;
        *) _orchctl_ask "$1" ;;
    esac
}

# a command of the user's own, which begins with the word at $1
_orchctl_program() {
    if declare -F _command_offset >/dev/null; then
        _command_offset "${starts[$1]}"
    elif (($1 == ${#words[@]} - 1)); then
        mapfile -t COMPREPLY < <(compgen -c -- "$cur" | sort -u)
    else
        compopt -o default
    fi
}

# COMP_WORDS put together again where COMP_WORDBREAKS has cut at @, : or =
_orchctl_split() {
    local i word rest=${COMP_LINE:0:COMP_POINT}
    for ((i = 0; i <= COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if ((i == 0)) || [[ $rest == [[:blank:]]* ]]; then
            words+=('') starts+=("$i")
            rest=${rest#"${rest%%[![:blank:]]*}"}
        fi
        ((i < COMP_CWORD)) || word=$rest
        words[-1]+=$word
        rest=${rest#"$word"}
    done
}

# What bash does not replace of the word, because it begins the word behind it, is taken off the answers. At @ it cuts
# the words it tells us, but not the one it replaces.
_orchctl_trim() {
    local cut='' i
    for ((i = ${#1}; i > 0; i--)); do
        if [[ ${1:i-1:1} == [:=] && $COMP_WORDBREAKS == *"${1:i-1:1}"* ]]; then
            cut=${1:0:i}
            break
        fi
    done
    for i in "${!COMPREPLY[@]}"; do
        COMPREPLY[i]=$2${COMPREPLY[i]}
        COMPREPLY[i]=${COMPREPLY[i]#"$cut"}
    done
}

# the kind of the argument number $1
_orchctl_argument() {
    local -a kinds
    value=
    [[ $arguments ]] || return
    read -ra kinds <<<"$arguments"
    value=${kinds[$1 - 1]-}
    [[ $value || ${kinds[-1]} != *... ]] || value=${kinds[-1]}
    value=${value%...}
}

# whether option $2 of the command $1 takes the next word; $value is what that may be
_orchctl_takes() {
    local i
    value=
    case $2 in
        --*=*) return 1 ;;
        --*) _orchctl_value "$1" "$2"; return ;;
    esac
    for ((i = 1; i < ${#2}; i++)); do
        _orchctl_value "$1" "-${2:i:1}" && { ((i + 1 == ${#2})); return; }
    done
    return 1
}

_orchctl() {
    local cur path='' word value='' front='' nodes options arguments pending='' closed='' count=0 i whole
    local -a words=() starts=()
    COMPREPLY=()
    _orchctl_split
    _orchctl_about ''
    for ((i = 1; i < ${#words[@]} - 1; i++)); do
        word=${words[i]}
        if [[ $pending ]]; then
            pending=
        elif [[ ! $closed && $word == -- ]]; then
            closed=1
        elif [[ ! $closed && $word == -?* ]]; then
            _orchctl_takes "$path" "$word" && pending=$value
        elif [[ $nodes ]]; then
            _orchctl_alias "$path" "$word"
            _orchctl_about "$path"
        else
            _orchctl_argument $((++count))
            if [[ $value == command ]]; then
                cur=${words[-1]}
                _orchctl_program "$i"
                return
            fi
        fi
    done
    whole=${words[-1]} cur=${words[-1]}
    case $cur in
        [\'\"]*) cur=${cur:1} whole= ;; # bash does not cut inside quotes
    esac
    if [[ $pending ]]; then
        _orchctl_offer "$pending"
    elif [[ ! $closed && $cur == --*=* ]]; then
        front=${cur%%=*}= cur=${cur#*=}
        _orchctl_value "$path" "${front%=}" && _orchctl_offer "$value"
    elif [[ ! $closed && $cur == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$options" -- "$cur")
    elif [[ $nodes ]]; then
        compopt -o nosort
        mapfile -t COMPREPLY < <(compgen -W "$nodes" -- "$cur")
    else
        _orchctl_argument $((count + 1))
        if [[ $value == command ]]; then
            _orchctl_program $((${#words[@]} - 1))
            return
        fi
        _orchctl_offer "$value"
    fi
    _orchctl_trim "$whole" "$front"
}

complete -F _orchctl orchctl
