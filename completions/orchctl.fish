# fish completion for orchctl; made by 'python -m tests.generate', not by hand

# whether commands follow
function __orchctl_group
    contains -- $argv[1] '' 'harness' 'lease' 'config' 'supervisor'
end

# which argument begins a command of the user's own
function __orchctl_own
    switch $argv[1]
        case 'spawn'
            echo 1
        case 'exec'
            echo 2
        case '*'
            echo 0
    end
end

# whether an option of a command has a value
function __orchctl_valued
    switch $argv[1]
        case ''
            contains -- $argv[2] --host --color
        case 'spawn'
            contains -- $argv[2] --name -m --manager -b --backend --prompt --model --profile --permission --resume --shell -w --cwd --size -e --env --env-file -l --label --timeout --idle-timeout --bind-pid --restart --if-exists --id-file --template
        case 'exec'
            contains -- $argv[2] -c --script -w --cwd -e --env --timeout --kill-after --max-output --wait-prompt --lease --lease-wait --once --template
        case 'list'
            contains -- $argv[2] --sort --group-by -m --manager -l --label --repo --template
        case 'info'
            contains -- $argv[2] --template
        case 'top'
            contains -- $argv[2] -m --manager -l --label --repo --template
        case 'tail'
            contains -- $argv[2] -n --tail --since --until --stream --command -m --manager -l --label --repo --template
        case 'search'
            contains -- $argv[2] -A --after-context -B --before-context -C --context --since --max -m --manager -l --label --repo --template
        case 'screen'
            contains -- $argv[2] --as --template
        case 'export'
            contains -- $argv[2] --as -o --output --template
        case 'attach'
            contains -- $argv[2] --detach-keys --template
        case 'send'
            contains -- $argv[2] --key --once --lease --lease-wait --template
        case 'history'
            contains -- $argv[2] --template
        case 'wait'
            contains -- $argv[2] --for --since --timeout -m --manager -l --label --repo --template
        case 'expect'
            contains -- $argv[2] --timeout --template
        case 'interrupt'
            contains -- $argv[2] --template
        case 'pending'
            contains -- $argv[2] --template
        case 'approve'
            contains -- $argv[2] --request --template
        case 'deny'
            contains -- $argv[2] --request --template
        case 'answer'
            contains -- $argv[2] --request --template
        case 'harness list'
            contains -- $argv[2] --template
        case 'rename'
            contains -- $argv[2] --template
        case 'label'
            contains -- $argv[2] --remove --set -m --manager -l --label --repo --template
        case 'signal'
            contains -- $argv[2] -m --manager -l --label --repo --template
        case 'resize'
            contains -- $argv[2] --lease -m --manager -l --label --repo --template
        case 'pause'
            contains -- $argv[2] -m --manager -l --label --repo --template
        case 'unpause'
            contains -- $argv[2] -m --manager -l --label --repo --template
        case 'restart'
            contains -- $argv[2] --grace -m --manager -l --label --repo --template
        case 'lease release'
            contains -- $argv[2] --lease --template
        case 'lease show'
            contains -- $argv[2] --lease --template
        case 'lease take'
            contains -- $argv[2] --ttl --wait --lease --template
        case 'lease transfer'
            contains -- $argv[2] --to --lease --template
        case 'kill'
            contains -- $argv[2] -s --signal --grace -m --manager -l --label --repo --template
        case 'kill-by-manager'
            contains -- $argv[2] --grace --template
        case 'verify'
            contains -- $argv[2] --template
        case 'events'
            contains -- $argv[2] --since --type --exec -m --manager -l --label --repo --template
        case 'prune'
            contains -- $argv[2] --older-than --size -m --manager -l --label --repo --template
        case 'audit'
            contains -- $argv[2] --head --since --template
        case 'limits'
            contains -- $argv[2] --template
        case 'config check'
            contains -- $argv[2] --template
        case 'config get'
            contains -- $argv[2] --template
        case 'config path'
            contains -- $argv[2] --set --template
        case 'config set'
            contains -- $argv[2] --template
        case 'config show'
            contains -- $argv[2] --template
        case 'config unset'
            contains -- $argv[2] --template
        case 'doctor'
            contains -- $argv[2] --template
        case 'supervisor logs'
            contains -- $argv[2] -n --lines --template
        case 'supervisor restart'
            contains -- $argv[2] --template
        case 'supervisor start'
            contains -- $argv[2] --template
        case 'supervisor status'
            contains -- $argv[2] --template
        case 'supervisor stop'
            contains -- $argv[2] --template
        case 'completion'
            contains -- $argv[2] --template
        case 'schema'
            contains -- $argv[2] --template
        case '*'
            false
    end
end

# go down to a command
function __orchctl_alias
    switch "$__orchctl_path $argv[1]"
        case ' ls'
            set __orchctl_path list
        case ' ps'
            set __orchctl_path list
        case ' show'
            set __orchctl_path info
        case ' inspect'
            set __orchctl_path info
        case ' logs'
            set __orchctl_path tail
        case ' stats'
            set __orchctl_path top
        case ' rm'
            set __orchctl_path prune
        case ' stop'
            set __orchctl_path kill
        case '*'
            set __orchctl_path (string trim -- "$__orchctl_path $argv[1]")
    end
end

# Walk the words before the cursor, once a line: the command they name, how many arguments it has, and at which
# word a command of the user's own begins.
function __orchctl_walk
    set -l words (commandline -opc)
    set -l line (string join \x1f -- $words)
    test "$line" = "$__orchctl_line"; and return
    set -g __orchctl_line $line
    set -g __orchctl_path ''
    set -g __orchctl_count 0
    set -g __orchctl_begin 0
    set -l pending 0
    set -l closed 0
    for i in (seq 2 (count $words))
        set -l word $words[$i]
        if test $pending = 1
            set pending 0
        else if test $closed = 0; and test "$word" = --
            set closed 1
        else if test $closed = 0; and string match -q -- '-?*' $word
            __orchctl_takes "$__orchctl_path" $word; and set pending 1
        else if __orchctl_group "$__orchctl_path"
            __orchctl_alias $word
        else
            set __orchctl_count (math $__orchctl_count + 1)
            if test $__orchctl_count = (__orchctl_own "$__orchctl_path")
                set __orchctl_begin $i
                return
            end
        end
    end
end

# whether an option takes the next word
function __orchctl_takes
    switch $argv[2]
        case '--*=*'
            return 1
        case '--*'
            __orchctl_valued $argv[1] $argv[2]
            return
    end
    set -l letters (string split '' -- (string sub -s 2 -- $argv[2]))
    for i in (seq (count $letters))
        if __orchctl_valued $argv[1] -$letters[$i]
            test $i = (count $letters)
            return
        end
    end
    return 1
end

# whether this command is being typed, and none of the user's own yet
function __orchctl_at
    __orchctl_walk
    test "$__orchctl_path" = "$argv[1]"; and test $__orchctl_begin = 0
end

# whether its argument number N is due; 'N+' means N and all that follow
function __orchctl_argument
    __orchctl_at $argv[1]; or return
    set -l due (math $__orchctl_count + 1)
    if string match -q -- '*+' $argv[2]
        test $due -ge (string trim -c + -- $argv[2])
    else
        test $due = $argv[2]
    end
end

# sessions and managers: orchctl tells them and never starts anything for it
function __orchctl_candidates
    set -l program (commandline -opc)[1]
    type -q -- $program; or set program orchctl
    set -l word (commandline -ct | string replace -r -- '^--[^=]*=' '')
    command $program completion --candidates $argv[1] --word "$word" 2>/dev/null </dev/null
end

# a command of the user's own
function __orchctl_program
    __orchctl_walk
    set -l words
    if test $__orchctl_begin != 0
        set words (commandline -opc)
        set words (string escape -- $words[$__orchctl_begin..-1])
    else if string match -q -- '-*' (commandline -ct)
        return
    end
    complete "-C"(string join ' ' -- $words (commandline -ct)) 2>/dev/null
end

function __orchctl_in_program
    __orchctl_walk
    test $__orchctl_begin != 0
end

complete -c orchctl -f
complete -c orchctl -n __orchctl_in_program -f -a '(__orchctl_program)'

complete -c orchctl -n '__orchctl_at \'\'' -a spawn -d 'Start a session and print its id.'
complete -c orchctl -n '__orchctl_at \'\'' -a exec -d 'Run a command in a session\'s live shell.'
complete -c orchctl -n '__orchctl_at \'\'' -a list -d 'Show the live sessions.'
complete -c orchctl -n '__orchctl_at \'\'' -a ls -d 'Show the live sessions.'
complete -c orchctl -n '__orchctl_at \'\'' -a ps -d 'Show the live sessions.'
complete -c orchctl -n '__orchctl_at \'\'' -a info -d 'Show one session in full.'
complete -c orchctl -n '__orchctl_at \'\'' -a show -d 'Show one session in full.'
complete -c orchctl -n '__orchctl_at \'\'' -a inspect -d 'Show one session in full.'
complete -c orchctl -n '__orchctl_at \'\'' -a top -d 'Show what sessions use, live.'
complete -c orchctl -n '__orchctl_at \'\'' -a stats -d 'Show what sessions use, live.'
complete -c orchctl -n '__orchctl_at \'\'' -a tail -d 'Show a session\'s output; -f follows it.'
complete -c orchctl -n '__orchctl_at \'\'' -a logs -d 'Show a session\'s output; -f follows it.'
complete -c orchctl -n '__orchctl_at \'\'' -a search -d 'Find lines in the output of sessions.'
complete -c orchctl -n '__orchctl_at \'\'' -a screen -d 'Show what a session\'s terminal shows now.'
complete -c orchctl -n '__orchctl_at \'\'' -a export -d 'Take a session\'s recording out.'
complete -c orchctl -n '__orchctl_at \'\'' -a attach -d 'Work in a session with your own terminal.'
complete -c orchctl -n '__orchctl_at \'\'' -a send -d 'Type into a session.'
complete -c orchctl -n '__orchctl_at \'\'' -a history -d 'Show the commands run in a session.'
complete -c orchctl -n '__orchctl_at \'\'' -a wait -d 'Wait for sessions to end, or for something else.'
complete -c orchctl -n '__orchctl_at \'\'' -a expect -d 'Wait for one of several patterns in a session\'s output.'
complete -c orchctl -n '__orchctl_at \'\'' -a interrupt -d 'Do what Ctrl-C does in a session.'
complete -c orchctl -n '__orchctl_at \'\'' -a pending -d 'Show what agents wait for a human to say.'
complete -c orchctl -n '__orchctl_at \'\'' -a approve -d 'Let an agent do what it asks for.'
complete -c orchctl -n '__orchctl_at \'\'' -a deny -d 'Do not let an agent do what it asks for.'
complete -c orchctl -n '__orchctl_at \'\'' -a answer -d 'Answer an agent\'s question.'
complete -c orchctl -n '__orchctl_at \'\'' -a harness -d 'Look at the agent harnesses.'
complete -c orchctl -n '__orchctl_at \'\'' -a rename -d 'Give a session another name.'
complete -c orchctl -n '__orchctl_at \'\'' -a label -d 'Set, remove and show labels of sessions.'
complete -c orchctl -n '__orchctl_at \'\'' -a signal -d 'Send a signal to a session\'s program.'
complete -c orchctl -n '__orchctl_at \'\'' -a resize -d 'Give a session\'s terminal another size.'
complete -c orchctl -n '__orchctl_at \'\'' -a pause -d 'Stop everything a session runs.'
complete -c orchctl -n '__orchctl_at \'\'' -a unpause -d 'Let a paused session go on.'
complete -c orchctl -n '__orchctl_at \'\'' -a restart -d 'End what a session runs and start it again.'
complete -c orchctl -n '__orchctl_at \'\'' -a lease -d 'Say who may type into a session.'
complete -c orchctl -n '__orchctl_at \'\'' -a kill -d 'End sessions.'
complete -c orchctl -n '__orchctl_at \'\'' -a stop -d 'End sessions.'
complete -c orchctl -n '__orchctl_at \'\'' -a kill-by-manager -d 'End every session of a manager and below it.'
complete -c orchctl -n '__orchctl_at \'\'' -a verify -d 'Check every file of the store.'
complete -c orchctl -n '__orchctl_at \'\'' -a events -d 'Show what happened, as NDJSON; -f follows.'
complete -c orchctl -n '__orchctl_at \'\'' -a prune -d 'Take ended sessions away, or their output.'
complete -c orchctl -n '__orchctl_at \'\'' -a rm -d 'Take ended sessions away, or their output.'
complete -c orchctl -n '__orchctl_at \'\'' -a audit -d 'Show who did what; --verify checks that nothing was changed.'
complete -c orchctl -n '__orchctl_at \'\'' -a limits -d 'Show what managers may have, and what they have.'
complete -c orchctl -n '__orchctl_at \'\'' -a config -d 'Show and change settings.'
complete -c orchctl -n '__orchctl_at \'\'' -a doctor -d 'Look for what could go wrong here.'
complete -c orchctl -n '__orchctl_at \'\'' -a supervisor -d 'Start, stop and look at the supervisor.'
complete -c orchctl -n '__orchctl_at \'\'' -a completion -d 'Print a completion script for a shell.'
complete -c orchctl -n '__orchctl_at \'\'' -a schema -d 'Print the JSON Schema of what orchctl prints.'
complete -c orchctl -n '__orchctl_at \'\'' -l host -r -f -a 'local ephemeral' -d 'Whose supervisor: the user\'s, or its own.'
complete -c orchctl -n '__orchctl_at \'\'' -l verbose -d 'Say on stderr what is being done.'
complete -c orchctl -n '__orchctl_at \'\'' -l color -r -f -a 'auto always never' -d 'When to use colour.'
complete -c orchctl -n '__orchctl_at \'\'' -l no-autostart -d 'Fail instead of starting a supervisor.'
complete -c orchctl -n '__orchctl_at \'\'' -s V -l version -d 'Show the version and exit.'
complete -c orchctl -n '__orchctl_at \'\'' -s h -l help -d 'Show this message and exit.'

complete -c orchctl -n '__orchctl_at \'spawn\'' -l name -r -f -d 'A name for it, unique among live sessions.'
complete -c orchctl -n '__orchctl_at \'spawn\'' -s m -l manager -r -f -k -a '(__orchctl_candidates managers)' -d 'Who manages it; \':name\' adds a segment to the caller\'s own.'
complete -c orchctl -n '__orchctl_at \'spawn\'' -s b -l backend -r -f -a 'pty pipe acp claude codex opencode' -d 'A terminal (the default), pipes, or an agent.'
complete -c orchctl -n '__orchctl_at \'spawn\'' -l prompt -r -f -d 'Said to the agent at once.'
complete -c orchctl -n '__orchctl_at \'spawn\'' -l model -r -f -d 'The agent\'s model.'
complete -c orchctl -n '__orchctl_at \'spawn\'' -l profile -r -f -d 'How the agent\'s harness is run: [profiles.NAME] in config.toml.'
complete -c orchctl -n '__orchctl_at \'spawn\'' -l permission -r -f -a 'ask allow deny' -d 'When the agent wants one: ask a human, or reply so.'
complete -c orchctl -n '__orchctl_at \'spawn\'' -l resume -r -f -d 'Go on with a conversation that the harness has.'
complete -c orchctl -n '__orchctl_at \'spawn\'' -l shell -r -F -d 'The shell to start, if there is no COMMAND.'
complete -c orchctl -n '__orchctl_at \'spawn\'' -s w -l cwd -r -f -a '(__fish_complete_directories)' -d 'Where it runs; default: here.'
complete -c orchctl -n '__orchctl_at \'spawn\'' -l size -r -f -d 'Its terminal\'s size. [default: 80x24]'
complete -c orchctl -n '__orchctl_at \'spawn\'' -s e -l env -r -f -d 'Set in its environment.'
complete -c orchctl -n '__orchctl_at \'spawn\'' -l env-file -r -F -d 'The same from a file, one K=V a line; -e wins.'
complete -c orchctl -n '__orchctl_at \'spawn\'' -s l -l label -r -f -d 'A note to find it by.'
complete -c orchctl -n '__orchctl_at \'spawn\'' -l timeout -r -f -d 'End it after this time.'
complete -c orchctl -n '__orchctl_at \'spawn\'' -l idle-timeout -r -f -d 'End it after so long without output or input.'
complete -c orchctl -n '__orchctl_at \'spawn\'' -l bind-pid -r -f -d 'End it when that process ends. [x>=1]'
complete -c orchctl -n '__orchctl_at \'spawn\'' -l restart -r -f -a 'no on-failure always' -d 'Whether it starts again when it ended.'
complete -c orchctl -n '__orchctl_at \'spawn\'' -l if-exists -r -f -a 'error reuse skip' -d 'When a live session has the name: an error; that one, if it runs the same; or that one in any case.'
complete -c orchctl -n '__orchctl_at \'spawn\'' -l no-pty -d 'The same as -b pipe: faster for much output.'
complete -c orchctl -n '__orchctl_at \'spawn\'' -l stdin -d 'Let COMMAND read this command\'s stdin; --stdin=open: what \'send\' sends.'
complete -c orchctl -n '__orchctl_at \'spawn\'' -l rm -d 'Take it away, with its log, when it has ended.'
complete -c orchctl -n '__orchctl_at \'spawn\'' -l wait -d 'Come back when it ended, with its exit code.'
complete -c orchctl -n '__orchctl_at \'spawn\'' -l follow -d 'Show its output instead of the id; end with its exit code.'
complete -c orchctl -n '__orchctl_at \'spawn\'' -l attach -d 'Work in it with your own terminal; end with its exit code.'
complete -c orchctl -n '__orchctl_at \'spawn\'' -l id-file -r -F -d 'Write the id there too, as soon as it runs.'
complete -c orchctl -n '__orchctl_at \'spawn\'' -l json -d 'JSON on stdout.'
complete -c orchctl -n '__orchctl_at \'spawn\'' -l template -r -f -d 'Fields of the JSON in a text: \'{id}\\t{state}\'.'
complete -c orchctl -n '__orchctl_at \'spawn\'' -s q -l quiet -d 'Ids only in listings, else nothing but errors.'
complete -c orchctl -n '__orchctl_at \'spawn\'' -s h -l help -d 'Show this message and exit.'
complete -c orchctl -n '__orchctl_argument \'spawn\' 1+' -f -a '(__orchctl_program)'

complete -c orchctl -n '__orchctl_at \'exec\'' -s c -r -f -d 'Shell text to run.'
complete -c orchctl -n '__orchctl_at \'exec\'' -l script -r -F -d 'Shell text from a file, or - for stdin; any number of lines.'
complete -c orchctl -n '__orchctl_at \'exec\'' -s w -l cwd -r -f -a '(__fish_complete_directories)' -d 'Run it there, and go back afterwards.'
complete -c orchctl -n '__orchctl_at \'exec\'' -s e -l env -r -f -d 'Set for this command alone.'
complete -c orchctl -n '__orchctl_at \'exec\'' -l stdin -d 'Hand over our stdin; without it, it has /dev/null.'
complete -c orchctl -n '__orchctl_at \'exec\'' -l tty-stdin -d 'Leave it the terminal to read from.'
complete -c orchctl -n '__orchctl_at \'exec\'' -l pipe -d 'Give it two pipes: stdout and stderr apart, and byte for byte.'
complete -c orchctl -n '__orchctl_at \'exec\'' -l raw -d 'The terminal\'s bytes, newlines as the terminal made them.'
complete -c orchctl -n '__orchctl_at \'exec\'' -l timeout -r -f -d 'Interrupt it after this long; exit 124.'
complete -c orchctl -n '__orchctl_at \'exec\'' -l kill-after -r -f -d 'End it by force so long after that. [default: 2s]'
complete -c orchctl -n '__orchctl_at \'exec\'' -l max-output -r -f -d 'Show no more than this; the rest is in the log.'
complete -c orchctl -n '__orchctl_at \'exec\'' -l wait-prompt -r -f -d 'Wait so long for a prompt.'
complete -c orchctl -n '__orchctl_at \'exec\'' -l lease -r -f -d 'What \'lease take\' printed; not needed in the terminal it ran in.'
complete -c orchctl -n '__orchctl_at \'exec\'' -l lease-wait -r -f -d 'Wait so long for another who holds the lease.'
complete -c orchctl -n '__orchctl_at \'exec\'' -l detach -d 'Start it and come back; it goes on.'
complete -c orchctl -n '__orchctl_at \'exec\'' -l once -r -f -d 'To an agent: said once, however often it is asked with this id.'
complete -c orchctl -n '__orchctl_at \'exec\'' -l no-wait-input -d 'To an agent: come back with 7 when it waits for a human.'
complete -c orchctl -n '__orchctl_at \'exec\'' -l no-record -d 'Keep it out of the session\'s history.'
complete -c orchctl -n '__orchctl_at \'exec\'' -l json -d 'JSON on stdout.'
complete -c orchctl -n '__orchctl_at \'exec\'' -l template -r -f -d 'Fields of the JSON in a text: \'{id}\\t{state}\'.'
complete -c orchctl -n '__orchctl_at \'exec\'' -s q -l quiet -d 'Ids only in listings, else nothing but errors.'
complete -c orchctl -n '__orchctl_at \'exec\'' -s h -l help -d 'Show this message and exit.'
complete -c orchctl -n '__orchctl_argument \'exec\' 1' -f -k -a '(__orchctl_candidates live)'
complete -c orchctl -n '__orchctl_argument \'exec\' 2+' -f -a '(__orchctl_program)'

complete -c orchctl -n '__orchctl_at \'list\'' -s a -l all -d 'Ended sessions too.'
complete -c orchctl -n '__orchctl_at \'list\'' -l sort -r -f -a 'created name manager state time ended cpu memory output' -d 'By what; oldest first if not said.'
complete -c orchctl -n '__orchctl_at \'list\'' -l group-by -r -f -a 'repo manager' -d 'A heading for each repository or manager.'
complete -c orchctl -n '__orchctl_at \'list\'' -l watch -d 'Go on, and show it anew when it changes.'
complete -c orchctl -n '__orchctl_at \'list\'' -s m -l manager -r -f -k -a '(__orchctl_candidates managers)' -d 'Those of a manager and below.'
complete -c orchctl -n '__orchctl_at \'list\'' -s l -l label -r -f -d 'Those with this label.'
complete -c orchctl -n '__orchctl_at \'list\'' -l repo -r -F -d 'Those in the git work tree that PATH lies in.'
complete -c orchctl -n '__orchctl_at \'list\'' -l json -d 'JSON on stdout.'
complete -c orchctl -n '__orchctl_at \'list\'' -l template -r -f -d 'Fields of the JSON in a text: \'{id}\\t{state}\'.'
complete -c orchctl -n '__orchctl_at \'list\'' -s q -l quiet -d 'Ids only in listings, else nothing but errors.'
complete -c orchctl -n '__orchctl_at \'list\'' -s h -l help -d 'Show this message and exit.'
complete -c orchctl -n '__orchctl_argument \'list\' 1+' -f -k -a '(__orchctl_candidates live-many)'

complete -c orchctl -n '__orchctl_at \'info\'' -l env -d 'And the environment its program was started with: it may hold secrets.'
complete -c orchctl -n '__orchctl_at \'info\'' -l json -d 'JSON on stdout.'
complete -c orchctl -n '__orchctl_at \'info\'' -l template -r -f -d 'Fields of the JSON in a text: \'{id}\\t{state}\'.'
complete -c orchctl -n '__orchctl_at \'info\'' -s q -l quiet -d 'Ids only in listings, else nothing but errors.'
complete -c orchctl -n '__orchctl_at \'info\'' -s h -l help -d 'Show this message and exit.'
complete -c orchctl -n '__orchctl_argument \'info\' 1' -f -k -a '(__orchctl_candidates any)'

complete -c orchctl -n '__orchctl_at \'top\'' -l once -d 'One look, also on a terminal; into a pipe it is one in any case.'
complete -c orchctl -n '__orchctl_at \'top\'' -s m -l manager -r -f -k -a '(__orchctl_candidates managers)' -d 'Those of a manager and below.'
complete -c orchctl -n '__orchctl_at \'top\'' -s l -l label -r -f -d 'Those with this label.'
complete -c orchctl -n '__orchctl_at \'top\'' -l repo -r -F -d 'Those in the git work tree that PATH lies in.'
complete -c orchctl -n '__orchctl_at \'top\'' -l all -d 'All sessions.'
complete -c orchctl -n '__orchctl_at \'top\'' -l json -d 'JSON on stdout.'
complete -c orchctl -n '__orchctl_at \'top\'' -l template -r -f -d 'Fields of the JSON in a text: \'{id}\\t{state}\'.'
complete -c orchctl -n '__orchctl_at \'top\'' -s q -l quiet -d 'Ids only in listings, else nothing but errors.'
complete -c orchctl -n '__orchctl_at \'top\'' -s h -l help -d 'Show this message and exit.'
complete -c orchctl -n '__orchctl_argument \'top\' 1+' -f -k -a '(__orchctl_candidates live-many)'

complete -c orchctl -n '__orchctl_at \'tail\'' -s f -l follow -d 'Go on until the sessions are closed.'
complete -c orchctl -n '__orchctl_at \'tail\'' -s n -l tail -r -f -a 'all' -d 'How many lines; 10 by default.'
complete -c orchctl -n '__orchctl_at \'tail\'' -l since -r -f -d 'From then on.'
complete -c orchctl -n '__orchctl_at \'tail\'' -l until -r -f -d 'Up to then.'
complete -c orchctl -n '__orchctl_at \'tail\'' -s t -l times -d 'The time in front of each line.'
complete -c orchctl -n '__orchctl_at \'tail\'' -l prefix -d 'The session\'s name in front of each line; of several it is there.'
complete -c orchctl -n '__orchctl_at \'tail\'' -l stream -r -f -a 'out err' -d 'Of a session without a terminal, one of both.'
complete -c orchctl -n '__orchctl_at \'tail\'' -l raw -d 'The bytes as the program wrote them to its terminal.'
complete -c orchctl -n '__orchctl_at \'tail\'' -l plain -d 'Without escape sequences, lines as they stand in the end.'
complete -c orchctl -n '__orchctl_at \'tail\'' -l command -r -f -d 'The output of the N-th command alone. [x>=1]'
complete -c orchctl -n '__orchctl_at \'tail\'' -l exit-status -d 'End with the session\'s exit code; waits for it with -f.'
complete -c orchctl -n '__orchctl_at \'tail\'' -s m -l manager -r -f -k -a '(__orchctl_candidates managers)' -d 'Those of a manager and below.'
complete -c orchctl -n '__orchctl_at \'tail\'' -s l -l label -r -f -d 'Those with this label.'
complete -c orchctl -n '__orchctl_at \'tail\'' -l repo -r -F -d 'Those in the git work tree that PATH lies in.'
complete -c orchctl -n '__orchctl_at \'tail\'' -l all -d 'All sessions.'
complete -c orchctl -n '__orchctl_at \'tail\'' -l json -d 'JSON on stdout.'
complete -c orchctl -n '__orchctl_at \'tail\'' -l template -r -f -d 'Fields of the JSON in a text: \'{id}\\t{state}\'.'
complete -c orchctl -n '__orchctl_at \'tail\'' -s q -l quiet -d 'Ids only in listings, else nothing but errors.'
complete -c orchctl -n '__orchctl_at \'tail\'' -s h -l help -d 'Show this message and exit.'
complete -c orchctl -n '__orchctl_argument \'tail\' 1+' -f -k -a '(__orchctl_candidates any-many)'

complete -c orchctl -n '__orchctl_at \'search\'' -s F -l fixed-strings -d 'PATTERN is text.'
complete -c orchctl -n '__orchctl_at \'search\'' -s E -l regex -d 'PATTERN is a regular expression; the default.'
complete -c orchctl -n '__orchctl_at \'search\'' -s i -l ignore-case -d 'a is A; of ASCII letters only.'
complete -c orchctl -n '__orchctl_at \'search\'' -s n -l line-number -d 'The line\'s number in front of it.'
complete -c orchctl -n '__orchctl_at \'search\'' -s A -l after-context -r -f -d 'N lines after each match, too. [x>=0]'
complete -c orchctl -n '__orchctl_at \'search\'' -s B -l before-context -r -f -d 'N lines before each match, too. [x>=0]'
complete -c orchctl -n '__orchctl_at \'search\'' -s C -l context -r -f -d 'Both. [x>=0]'
complete -c orchctl -n '__orchctl_at \'search\'' -l since -r -f -d 'Only what was written since then.'
complete -c orchctl -n '__orchctl_at \'search\'' -s c -l count -d 'How many lines match, for each session.'
complete -c orchctl -n '__orchctl_at \'search\'' -l max -r -f -d 'N lines of each session at most. [x>=1]'
complete -c orchctl -n '__orchctl_at \'search\'' -s m -l manager -r -f -k -a '(__orchctl_candidates managers)' -d 'Those of a manager and below.'
complete -c orchctl -n '__orchctl_at \'search\'' -s l -l label -r -f -d 'Those with this label.'
complete -c orchctl -n '__orchctl_at \'search\'' -l repo -r -F -d 'Those in the git work tree that PATH lies in.'
complete -c orchctl -n '__orchctl_at \'search\'' -l all -d 'All sessions.'
complete -c orchctl -n '__orchctl_at \'search\'' -l json -d 'JSON on stdout.'
complete -c orchctl -n '__orchctl_at \'search\'' -l template -r -f -d 'Fields of the JSON in a text: \'{id}\\t{state}\'.'
complete -c orchctl -n '__orchctl_at \'search\'' -s q -l quiet -d 'Ids only in listings, else nothing but errors.'
complete -c orchctl -n '__orchctl_at \'search\'' -s h -l help -d 'Show this message and exit.'
complete -c orchctl -n '__orchctl_argument \'search\' 2+' -f -k -a '(__orchctl_candidates any-many)'

complete -c orchctl -n '__orchctl_at \'screen\'' -l as -r -f -a 'text ansi json' -d 'In which form. [default: text]'
complete -c orchctl -n '__orchctl_at \'screen\'' -l json -d 'JSON on stdout.'
complete -c orchctl -n '__orchctl_at \'screen\'' -l template -r -f -d 'Fields of the JSON in a text: \'{id}\\t{state}\'.'
complete -c orchctl -n '__orchctl_at \'screen\'' -s q -l quiet -d 'Ids only in listings, else nothing but errors.'
complete -c orchctl -n '__orchctl_at \'screen\'' -s h -l help -d 'Show this message and exit.'
complete -c orchctl -n '__orchctl_argument \'screen\' 1' -f -k -a '(__orchctl_candidates any)'

complete -c orchctl -n '__orchctl_at \'export\'' -l as -r -f -a 'asciicast raw text jsonl' -d 'In which form. [required]'
complete -c orchctl -n '__orchctl_at \'export\'' -s o -l output -r -F -d 'Into this file instead of stdout; 0600 if it is new.'
complete -c orchctl -n '__orchctl_at \'export\'' -l json -d 'JSON on stdout.'
complete -c orchctl -n '__orchctl_at \'export\'' -l template -r -f -d 'Fields of the JSON in a text: \'{id}\\t{state}\'.'
complete -c orchctl -n '__orchctl_at \'export\'' -s q -l quiet -d 'Ids only in listings, else nothing but errors.'
complete -c orchctl -n '__orchctl_at \'export\'' -s h -l help -d 'Show this message and exit.'
complete -c orchctl -n '__orchctl_argument \'export\' 1' -f -k -a '(__orchctl_candidates any)'

complete -c orchctl -n '__orchctl_at \'attach\'' -l read-only -d 'Look on: type nothing, change no size. Ctrl-C detaches too.'
complete -c orchctl -n '__orchctl_at \'attach\'' -l take -d 'Take the right to type at once, from whoever has it.'
complete -c orchctl -n '__orchctl_at \'attach\'' -l detach-keys -r -f -d 'What leaves it, such as \'ctrl-p,ctrl-q\'; default: the setting detach_keys.'
complete -c orchctl -n '__orchctl_at \'attach\'' -l json -d 'JSON on stdout.'
complete -c orchctl -n '__orchctl_at \'attach\'' -l template -r -f -d 'Fields of the JSON in a text: \'{id}\\t{state}\'.'
complete -c orchctl -n '__orchctl_at \'attach\'' -s q -l quiet -d 'Ids only in listings, else nothing but errors.'
complete -c orchctl -n '__orchctl_at \'attach\'' -s h -l help -d 'Show this message and exit.'
complete -c orchctl -n '__orchctl_argument \'attach\' 1' -f -k -a '(__orchctl_candidates live)'

complete -c orchctl -n '__orchctl_at \'send\'' -l key -r -f -d 'Press a key; repeatable, after TEXT.'
complete -c orchctl -n '__orchctl_at \'send\'' -l no-enter -d 'Do not press Enter after TEXT.'
complete -c orchctl -n '__orchctl_at \'send\'' -l paste -d 'As a paste: marked as one if the program asked for that.'
complete -c orchctl -n '__orchctl_at \'send\'' -l stdin -d 'Type what comes on stdin, byte for byte.'
complete -c orchctl -n '__orchctl_at \'send\'' -l hex -d 'TEXT is bytes in hexadecimal, such as \'1b 5b 41\'.'
complete -c orchctl -n '__orchctl_at \'send\'' -l eof -d 'End the input of a session on pipes, after all of that.'
complete -c orchctl -n '__orchctl_at \'send\'' -l once -r -f -d 'Typed once, however often it is sent with this id.'
complete -c orchctl -n '__orchctl_at \'send\'' -l lease -r -f -d 'What \'lease take\' printed; not needed in the terminal it ran in.'
complete -c orchctl -n '__orchctl_at \'send\'' -l lease-wait -r -f -d 'Wait so long for another who holds the lease.'
complete -c orchctl -n '__orchctl_at \'send\'' -l json -d 'JSON on stdout.'
complete -c orchctl -n '__orchctl_at \'send\'' -l template -r -f -d 'Fields of the JSON in a text: \'{id}\\t{state}\'.'
complete -c orchctl -n '__orchctl_at \'send\'' -s q -l quiet -d 'Ids only in listings, else nothing but errors.'
complete -c orchctl -n '__orchctl_at \'send\'' -s h -l help -d 'Show this message and exit.'
complete -c orchctl -n '__orchctl_argument \'send\' 1' -f -k -a '(__orchctl_candidates live)'

complete -c orchctl -n '__orchctl_at \'history\'' -l failed -d 'Only those that did not exit with 0.'
complete -c orchctl -n '__orchctl_at \'history\'' -l json -d 'JSON on stdout.'
complete -c orchctl -n '__orchctl_at \'history\'' -l template -r -f -d 'Fields of the JSON in a text: \'{id}\\t{state}\'.'
complete -c orchctl -n '__orchctl_at \'history\'' -s q -l quiet -d 'Ids only in listings, else nothing but errors.'
complete -c orchctl -n '__orchctl_at \'history\'' -s h -l help -d 'Show this message and exit.'
complete -c orchctl -n '__orchctl_argument \'history\' 1' -f -k -a '(__orchctl_candidates any)'

complete -c orchctl -n '__orchctl_at \'wait\'' -l for -r -f -a 'exit command prompt input quiet state= output=' -d 'What to wait for; exit if not said. Repeatable.'
complete -c orchctl -n '__orchctl_at \'wait\'' -l any -d 'Come back with the first of several sessions.'
complete -c orchctl -n '__orchctl_at \'wait\'' -l since -r -f -d 'Look at output since then: 5m, a time or @OFFSET.'
complete -c orchctl -n '__orchctl_at \'wait\'' -l new -d 'Look at output only as it comes from now on.'
complete -c orchctl -n '__orchctl_at \'wait\'' -l timeout -r -f -d 'Give up after this long; exit 124.'
complete -c orchctl -n '__orchctl_at \'wait\'' -s m -l manager -r -f -k -a '(__orchctl_candidates managers)' -d 'Those of a manager and below.'
complete -c orchctl -n '__orchctl_at \'wait\'' -s l -l label -r -f -d 'Those with this label.'
complete -c orchctl -n '__orchctl_at \'wait\'' -l repo -r -F -d 'Those in the git work tree that PATH lies in.'
complete -c orchctl -n '__orchctl_at \'wait\'' -l all -d 'All sessions.'
complete -c orchctl -n '__orchctl_at \'wait\'' -l json -d 'JSON on stdout.'
complete -c orchctl -n '__orchctl_at \'wait\'' -l template -r -f -d 'Fields of the JSON in a text: \'{id}\\t{state}\'.'
complete -c orchctl -n '__orchctl_at \'wait\'' -s q -l quiet -d 'Ids only in listings, else nothing but errors.'
complete -c orchctl -n '__orchctl_at \'wait\'' -s h -l help -d 'Show this message and exit.'
complete -c orchctl -n '__orchctl_argument \'wait\' 1+' -f -k -a '(__orchctl_candidates any-many)'

complete -c orchctl -n '__orchctl_at \'expect\'' -l timeout -r -f -d 'Give up after this long; exit 124.'
complete -c orchctl -n '__orchctl_at \'expect\'' -l json -d 'JSON on stdout.'
complete -c orchctl -n '__orchctl_at \'expect\'' -l template -r -f -d 'Fields of the JSON in a text: \'{id}\\t{state}\'.'
complete -c orchctl -n '__orchctl_at \'expect\'' -s q -l quiet -d 'Ids only in listings, else nothing but errors.'
complete -c orchctl -n '__orchctl_at \'expect\'' -s h -l help -d 'Show this message and exit.'
complete -c orchctl -n '__orchctl_argument \'expect\' 1' -f -k -a '(__orchctl_candidates live)'

complete -c orchctl -n '__orchctl_at \'interrupt\'' -l json -d 'JSON on stdout.'
complete -c orchctl -n '__orchctl_at \'interrupt\'' -l template -r -f -d 'Fields of the JSON in a text: \'{id}\\t{state}\'.'
complete -c orchctl -n '__orchctl_at \'interrupt\'' -s q -l quiet -d 'Ids only in listings, else nothing but errors.'
complete -c orchctl -n '__orchctl_at \'interrupt\'' -s h -l help -d 'Show this message and exit.'
complete -c orchctl -n '__orchctl_argument \'interrupt\' 1' -f -k -a '(__orchctl_candidates live)'

complete -c orchctl -n '__orchctl_at \'pending\'' -l json -d 'JSON on stdout.'
complete -c orchctl -n '__orchctl_at \'pending\'' -l template -r -f -d 'Fields of the JSON in a text: \'{id}\\t{state}\'.'
complete -c orchctl -n '__orchctl_at \'pending\'' -s q -l quiet -d 'Ids only in listings, else nothing but errors.'
complete -c orchctl -n '__orchctl_at \'pending\'' -s h -l help -d 'Show this message and exit.'
complete -c orchctl -n '__orchctl_argument \'pending\' 1+' -f -k -a '(__orchctl_candidates live-many)'

complete -c orchctl -n '__orchctl_at \'approve\'' -l request -r -f -d 'Which of several that are pending.'
complete -c orchctl -n '__orchctl_at \'approve\'' -l always -d 'And the like of it from now on, where the harness knows that.'
complete -c orchctl -n '__orchctl_at \'approve\'' -l json -d 'JSON on stdout.'
complete -c orchctl -n '__orchctl_at \'approve\'' -l template -r -f -d 'Fields of the JSON in a text: \'{id}\\t{state}\'.'
complete -c orchctl -n '__orchctl_at \'approve\'' -s q -l quiet -d 'Ids only in listings, else nothing but errors.'
complete -c orchctl -n '__orchctl_at \'approve\'' -s h -l help -d 'Show this message and exit.'
complete -c orchctl -n '__orchctl_argument \'approve\' 1' -f -k -a '(__orchctl_candidates live)'

complete -c orchctl -n '__orchctl_at \'deny\'' -l request -r -f -d 'Which of several that are pending.'
complete -c orchctl -n '__orchctl_at \'deny\'' -l json -d 'JSON on stdout.'
complete -c orchctl -n '__orchctl_at \'deny\'' -l template -r -f -d 'Fields of the JSON in a text: \'{id}\\t{state}\'.'
complete -c orchctl -n '__orchctl_at \'deny\'' -s q -l quiet -d 'Ids only in listings, else nothing but errors.'
complete -c orchctl -n '__orchctl_at \'deny\'' -s h -l help -d 'Show this message and exit.'
complete -c orchctl -n '__orchctl_argument \'deny\' 1' -f -k -a '(__orchctl_candidates live)'

complete -c orchctl -n '__orchctl_at \'answer\'' -l request -r -f -d 'Which of several that are pending.'
complete -c orchctl -n '__orchctl_at \'answer\'' -l json -d 'JSON on stdout.'
complete -c orchctl -n '__orchctl_at \'answer\'' -l template -r -f -d 'Fields of the JSON in a text: \'{id}\\t{state}\'.'
complete -c orchctl -n '__orchctl_at \'answer\'' -s q -l quiet -d 'Ids only in listings, else nothing but errors.'
complete -c orchctl -n '__orchctl_at \'answer\'' -s h -l help -d 'Show this message and exit.'
complete -c orchctl -n '__orchctl_argument \'answer\' 1' -f -k -a '(__orchctl_candidates live)'

complete -c orchctl -n '__orchctl_at \'harness\'' -a list -d 'Show which harnesses are installed, their versions, and which servers of theirs run; profiles too.'
complete -c orchctl -n '__orchctl_at \'harness\'' -s h -l help -d 'Show this message and exit.'

complete -c orchctl -n '__orchctl_at \'harness list\'' -l json -d 'JSON on stdout.'
complete -c orchctl -n '__orchctl_at \'harness list\'' -l template -r -f -d 'Fields of the JSON in a text: \'{id}\\t{state}\'.'
complete -c orchctl -n '__orchctl_at \'harness list\'' -s q -l quiet -d 'Ids only in listings, else nothing but errors.'
complete -c orchctl -n '__orchctl_at \'harness list\'' -s h -l help -d 'Show this message and exit.'

complete -c orchctl -n '__orchctl_at \'rename\'' -l none -d 'Take its name away.'
complete -c orchctl -n '__orchctl_at \'rename\'' -l json -d 'JSON on stdout.'
complete -c orchctl -n '__orchctl_at \'rename\'' -l template -r -f -d 'Fields of the JSON in a text: \'{id}\\t{state}\'.'
complete -c orchctl -n '__orchctl_at \'rename\'' -s q -l quiet -d 'Ids only in listings, else nothing but errors.'
complete -c orchctl -n '__orchctl_at \'rename\'' -s h -l help -d 'Show this message and exit.'
complete -c orchctl -n '__orchctl_argument \'rename\' 1' -f -k -a '(__orchctl_candidates any)'

complete -c orchctl -n '__orchctl_at \'label\'' -l remove -r -f -d 'Take this label away; repeatable.'
complete -c orchctl -n '__orchctl_at \'label\'' -l set -r -f -d 'The same as a word K=V.'
complete -c orchctl -n '__orchctl_at \'label\'' -s m -l manager -r -f -k -a '(__orchctl_candidates managers)' -d 'Those of a manager and below.'
complete -c orchctl -n '__orchctl_at \'label\'' -s l -l label -r -f -d 'Those with this label.'
complete -c orchctl -n '__orchctl_at \'label\'' -l repo -r -F -d 'Those in the git work tree that PATH lies in.'
complete -c orchctl -n '__orchctl_at \'label\'' -l all -d 'All sessions.'
complete -c orchctl -n '__orchctl_at \'label\'' -l json -d 'JSON on stdout.'
complete -c orchctl -n '__orchctl_at \'label\'' -l template -r -f -d 'Fields of the JSON in a text: \'{id}\\t{state}\'.'
complete -c orchctl -n '__orchctl_at \'label\'' -s q -l quiet -d 'Ids only in listings, else nothing but errors.'
complete -c orchctl -n '__orchctl_at \'label\'' -s h -l help -d 'Show this message and exit.'
complete -c orchctl -n '__orchctl_argument \'label\' 1+' -f -k -a '(__orchctl_candidates any-many)'

complete -c orchctl -n '__orchctl_at \'signal\'' -s m -l manager -r -f -k -a '(__orchctl_candidates managers)' -d 'Those of a manager and below.'
complete -c orchctl -n '__orchctl_at \'signal\'' -s l -l label -r -f -d 'Those with this label.'
complete -c orchctl -n '__orchctl_at \'signal\'' -l repo -r -F -d 'Those in the git work tree that PATH lies in.'
complete -c orchctl -n '__orchctl_at \'signal\'' -l all -d 'All sessions.'
complete -c orchctl -n '__orchctl_at \'signal\'' -l json -d 'JSON on stdout.'
complete -c orchctl -n '__orchctl_at \'signal\'' -l template -r -f -d 'Fields of the JSON in a text: \'{id}\\t{state}\'.'
complete -c orchctl -n '__orchctl_at \'signal\'' -s q -l quiet -d 'Ids only in listings, else nothing but errors.'
complete -c orchctl -n '__orchctl_at \'signal\'' -s h -l help -d 'Show this message and exit.'
complete -c orchctl -n '__orchctl_argument \'signal\' 1+' -f -k -a '(__orchctl_candidates live-many)'
complete -c orchctl -n '__orchctl_argument \'signal\' 2' -f -a 'ABRT ALRM BUS CHLD CONT FPE HUP ILL INT KILL PIPE PROF QUIT SEGV STOP SYS TERM TRAP TSTP TTIN TTOU URG USR1 USR2 VTALRM WINCH XCPU XFSZ'

complete -c orchctl -n '__orchctl_at \'resize\'' -l lease -r -f -d 'What \'lease take\' printed; not needed in the terminal it ran in.'
complete -c orchctl -n '__orchctl_at \'resize\'' -s m -l manager -r -f -k -a '(__orchctl_candidates managers)' -d 'Those of a manager and below.'
complete -c orchctl -n '__orchctl_at \'resize\'' -s l -l label -r -f -d 'Those with this label.'
complete -c orchctl -n '__orchctl_at \'resize\'' -l repo -r -F -d 'Those in the git work tree that PATH lies in.'
complete -c orchctl -n '__orchctl_at \'resize\'' -l all -d 'All sessions.'
complete -c orchctl -n '__orchctl_at \'resize\'' -l json -d 'JSON on stdout.'
complete -c orchctl -n '__orchctl_at \'resize\'' -l template -r -f -d 'Fields of the JSON in a text: \'{id}\\t{state}\'.'
complete -c orchctl -n '__orchctl_at \'resize\'' -s q -l quiet -d 'Ids only in listings, else nothing but errors.'
complete -c orchctl -n '__orchctl_at \'resize\'' -s h -l help -d 'Show this message and exit.'
complete -c orchctl -n '__orchctl_argument \'resize\' 1+' -f -k -a '(__orchctl_candidates live-many)'

complete -c orchctl -n '__orchctl_at \'pause\'' -s m -l manager -r -f -k -a '(__orchctl_candidates managers)' -d 'Those of a manager and below.'
complete -c orchctl -n '__orchctl_at \'pause\'' -s l -l label -r -f -d 'Those with this label.'
complete -c orchctl -n '__orchctl_at \'pause\'' -l repo -r -F -d 'Those in the git work tree that PATH lies in.'
complete -c orchctl -n '__orchctl_at \'pause\'' -l all -d 'All sessions.'
complete -c orchctl -n '__orchctl_at \'pause\'' -l json -d 'JSON on stdout.'
complete -c orchctl -n '__orchctl_at \'pause\'' -l template -r -f -d 'Fields of the JSON in a text: \'{id}\\t{state}\'.'
complete -c orchctl -n '__orchctl_at \'pause\'' -s q -l quiet -d 'Ids only in listings, else nothing but errors.'
complete -c orchctl -n '__orchctl_at \'pause\'' -s h -l help -d 'Show this message and exit.'
complete -c orchctl -n '__orchctl_argument \'pause\' 1+' -f -k -a '(__orchctl_candidates live-many)'

complete -c orchctl -n '__orchctl_at \'unpause\'' -s m -l manager -r -f -k -a '(__orchctl_candidates managers)' -d 'Those of a manager and below.'
complete -c orchctl -n '__orchctl_at \'unpause\'' -s l -l label -r -f -d 'Those with this label.'
complete -c orchctl -n '__orchctl_at \'unpause\'' -l repo -r -F -d 'Those in the git work tree that PATH lies in.'
complete -c orchctl -n '__orchctl_at \'unpause\'' -l all -d 'All sessions.'
complete -c orchctl -n '__orchctl_at \'unpause\'' -l json -d 'JSON on stdout.'
complete -c orchctl -n '__orchctl_at \'unpause\'' -l template -r -f -d 'Fields of the JSON in a text: \'{id}\\t{state}\'.'
complete -c orchctl -n '__orchctl_at \'unpause\'' -s q -l quiet -d 'Ids only in listings, else nothing but errors.'
complete -c orchctl -n '__orchctl_at \'unpause\'' -s h -l help -d 'Show this message and exit.'
complete -c orchctl -n '__orchctl_argument \'unpause\' 1+' -f -k -a '(__orchctl_candidates live-many)'

complete -c orchctl -n '__orchctl_at \'restart\'' -l grace -r -f -d 'Before it is ended by force. [default: 5s]'
complete -c orchctl -n '__orchctl_at \'restart\'' -s m -l manager -r -f -k -a '(__orchctl_candidates managers)' -d 'Those of a manager and below.'
complete -c orchctl -n '__orchctl_at \'restart\'' -s l -l label -r -f -d 'Those with this label.'
complete -c orchctl -n '__orchctl_at \'restart\'' -l repo -r -F -d 'Those in the git work tree that PATH lies in.'
complete -c orchctl -n '__orchctl_at \'restart\'' -l all -d 'All sessions.'
complete -c orchctl -n '__orchctl_at \'restart\'' -l json -d 'JSON on stdout.'
complete -c orchctl -n '__orchctl_at \'restart\'' -l template -r -f -d 'Fields of the JSON in a text: \'{id}\\t{state}\'.'
complete -c orchctl -n '__orchctl_at \'restart\'' -s q -l quiet -d 'Ids only in listings, else nothing but errors.'
complete -c orchctl -n '__orchctl_at \'restart\'' -s h -l help -d 'Show this message and exit.'
complete -c orchctl -n '__orchctl_argument \'restart\' 1+' -f -k -a '(__orchctl_candidates any-many)'

complete -c orchctl -n '__orchctl_at \'lease\'' -a release -d 'Let go of SESSION\'s lease, which this terminal, --lease or ORCHCTL_LEASE holds.'
complete -c orchctl -n '__orchctl_at \'lease\'' -a show -d 'Show who holds SESSION\'s lease, whether that is you, and who is attached.'
complete -c orchctl -n '__orchctl_at \'lease\'' -a take -d 'Keep others from typing into SESSION, and print the token that lets you.'
complete -c orchctl -n '__orchctl_at \'lease\'' -a transfer -d 'Hand SESSION\'s lease to somebody who is attached; \'lease show\' lists them.'
complete -c orchctl -n '__orchctl_at \'lease\'' -s h -l help -d 'Show this message and exit.'

complete -c orchctl -n '__orchctl_at \'lease release\'' -l lease -r -f -d 'What \'lease take\' printed; not needed in the terminal it ran in.'
complete -c orchctl -n '__orchctl_at \'lease release\'' -l json -d 'JSON on stdout.'
complete -c orchctl -n '__orchctl_at \'lease release\'' -l template -r -f -d 'Fields of the JSON in a text: \'{id}\\t{state}\'.'
complete -c orchctl -n '__orchctl_at \'lease release\'' -s q -l quiet -d 'Ids only in listings, else nothing but errors.'
complete -c orchctl -n '__orchctl_at \'lease release\'' -s h -l help -d 'Show this message and exit.'
complete -c orchctl -n '__orchctl_argument \'lease release\' 1' -f -k -a '(__orchctl_candidates live)'

complete -c orchctl -n '__orchctl_at \'lease show\'' -l lease -r -f -d 'What \'lease take\' printed; not needed in the terminal it ran in.'
complete -c orchctl -n '__orchctl_at \'lease show\'' -l json -d 'JSON on stdout.'
complete -c orchctl -n '__orchctl_at \'lease show\'' -l template -r -f -d 'Fields of the JSON in a text: \'{id}\\t{state}\'.'
complete -c orchctl -n '__orchctl_at \'lease show\'' -s q -l quiet -d 'Ids only in listings, else nothing but errors.'
complete -c orchctl -n '__orchctl_at \'lease show\'' -s h -l help -d 'Show this message and exit.'
complete -c orchctl -n '__orchctl_argument \'lease show\' 1' -f -k -a '(__orchctl_candidates live)'

complete -c orchctl -n '__orchctl_at \'lease take\'' -l ttl -r -f -d 'How long it lasts. [default: 10m]'
complete -c orchctl -n '__orchctl_at \'lease take\'' -l force -d 'Take it from whoever holds it; that one is told.'
complete -c orchctl -n '__orchctl_at \'lease take\'' -l wait -r -f -d 'Wait so long for it to be free.'
complete -c orchctl -n '__orchctl_at \'lease take\'' -l lease -r -f -d 'What \'lease take\' printed; not needed in the terminal it ran in.'
complete -c orchctl -n '__orchctl_at \'lease take\'' -l json -d 'JSON on stdout.'
complete -c orchctl -n '__orchctl_at \'lease take\'' -l template -r -f -d 'Fields of the JSON in a text: \'{id}\\t{state}\'.'
complete -c orchctl -n '__orchctl_at \'lease take\'' -s q -l quiet -d 'Ids only in listings, else nothing but errors.'
complete -c orchctl -n '__orchctl_at \'lease take\'' -s h -l help -d 'Show this message and exit.'
complete -c orchctl -n '__orchctl_argument \'lease take\' 1' -f -k -a '(__orchctl_candidates live)'

complete -c orchctl -n '__orchctl_at \'lease transfer\'' -l to -r -f -d 'An attached viewer, by its name or its manager. [required]'
complete -c orchctl -n '__orchctl_at \'lease transfer\'' -l return -d 'Have it back when that one lets go.'
complete -c orchctl -n '__orchctl_at \'lease transfer\'' -l lease -r -f -d 'What \'lease take\' printed; not needed in the terminal it ran in.'
complete -c orchctl -n '__orchctl_at \'lease transfer\'' -l json -d 'JSON on stdout.'
complete -c orchctl -n '__orchctl_at \'lease transfer\'' -l template -r -f -d 'Fields of the JSON in a text: \'{id}\\t{state}\'.'
complete -c orchctl -n '__orchctl_at \'lease transfer\'' -s q -l quiet -d 'Ids only in listings, else nothing but errors.'
complete -c orchctl -n '__orchctl_at \'lease transfer\'' -s h -l help -d 'Show this message and exit.'
complete -c orchctl -n '__orchctl_argument \'lease transfer\' 1' -f -k -a '(__orchctl_candidates live)'

complete -c orchctl -n '__orchctl_at \'kill\'' -s s -l signal -r -f -a 'ABRT ALRM BUS CHLD CONT FPE HUP ILL INT KILL PIPE PROF QUIT SEGV STOP SYS TERM TRAP TSTP TTIN TTOU URG USR1 USR2 VTALRM WINCH XCPU XFSZ' -d 'Ask with this signal, not HUP and TERM.'
complete -c orchctl -n '__orchctl_at \'kill\'' -l grace -r -f -d 'Before it is done by force. [default: 5s]'
complete -c orchctl -n '__orchctl_at \'kill\'' -l dry-run -d 'End nothing; say on stderr what would be ended.'
complete -c orchctl -n '__orchctl_at \'kill\'' -s m -l manager -r -f -k -a '(__orchctl_candidates managers)' -d 'Those of a manager and below.'
complete -c orchctl -n '__orchctl_at \'kill\'' -s l -l label -r -f -d 'Those with this label.'
complete -c orchctl -n '__orchctl_at \'kill\'' -l repo -r -F -d 'Those in the git work tree that PATH lies in.'
complete -c orchctl -n '__orchctl_at \'kill\'' -l all -d 'All sessions.'
complete -c orchctl -n '__orchctl_at \'kill\'' -l json -d 'JSON on stdout.'
complete -c orchctl -n '__orchctl_at \'kill\'' -l template -r -f -d 'Fields of the JSON in a text: \'{id}\\t{state}\'.'
complete -c orchctl -n '__orchctl_at \'kill\'' -s q -l quiet -d 'Ids only in listings, else nothing but errors.'
complete -c orchctl -n '__orchctl_at \'kill\'' -s h -l help -d 'Show this message and exit.'
complete -c orchctl -n '__orchctl_argument \'kill\' 1+' -f -k -a '(__orchctl_candidates live-many)'

complete -c orchctl -n '__orchctl_at \'kill-by-manager\'' -l exact -d 'Only its own sessions, not those of managers below it.'
complete -c orchctl -n '__orchctl_at \'kill-by-manager\'' -l grace -r -f -d 'Before it is done by force. [default: 5s]'
complete -c orchctl -n '__orchctl_at \'kill-by-manager\'' -l dry-run -d 'End nothing; say on stderr what would be ended.'
complete -c orchctl -n '__orchctl_at \'kill-by-manager\'' -l json -d 'JSON on stdout.'
complete -c orchctl -n '__orchctl_at \'kill-by-manager\'' -l template -r -f -d 'Fields of the JSON in a text: \'{id}\\t{state}\'.'
complete -c orchctl -n '__orchctl_at \'kill-by-manager\'' -s q -l quiet -d 'Ids only in listings, else nothing but errors.'
complete -c orchctl -n '__orchctl_at \'kill-by-manager\'' -s h -l help -d 'Show this message and exit.'
complete -c orchctl -n '__orchctl_argument \'kill-by-manager\' 1' -f -k -a '(__orchctl_candidates managers)'

complete -c orchctl -n '__orchctl_at \'verify\'' -l json -d 'JSON on stdout.'
complete -c orchctl -n '__orchctl_at \'verify\'' -l template -r -f -d 'Fields of the JSON in a text: \'{id}\\t{state}\'.'
complete -c orchctl -n '__orchctl_at \'verify\'' -s q -l quiet -d 'Ids only in listings, else nothing but errors.'
complete -c orchctl -n '__orchctl_at \'verify\'' -s h -l help -d 'Show this message and exit.'
complete -c orchctl -n '__orchctl_argument \'verify\' 1+' -f -k -a '(__orchctl_candidates any-by-name)'

complete -c orchctl -n '__orchctl_at \'events\'' -s f -l follow -d 'Go on with what happens from now on.'
complete -c orchctl -n '__orchctl_at \'events\'' -l since -r -f -d 'Where to begin.'
complete -c orchctl -n '__orchctl_at \'events\'' -l type -r -f -a 'session.state output command input error gap lease limit turn tool reasoning needs-input answered checkpoint' -d 'Only these; repeatable.'
complete -c orchctl -n '__orchctl_at \'events\'' -l exec -r -f -d 'Run CMD in a shell for each event, which is on its stdin.'
complete -c orchctl -n '__orchctl_at \'events\'' -s m -l manager -r -f -k -a '(__orchctl_candidates managers)' -d 'Those of a manager and below.'
complete -c orchctl -n '__orchctl_at \'events\'' -s l -l label -r -f -d 'Those with this label.'
complete -c orchctl -n '__orchctl_at \'events\'' -l repo -r -F -d 'Those in the git work tree that PATH lies in.'
complete -c orchctl -n '__orchctl_at \'events\'' -l all -d 'All sessions.'
complete -c orchctl -n '__orchctl_at \'events\'' -l json -d 'JSON on stdout.'
complete -c orchctl -n '__orchctl_at \'events\'' -l template -r -f -d 'Fields of the JSON in a text: \'{id}\\t{state}\'.'
complete -c orchctl -n '__orchctl_at \'events\'' -s q -l quiet -d 'Ids only in listings, else nothing but errors.'
complete -c orchctl -n '__orchctl_at \'events\'' -s h -l help -d 'Show this message and exit.'
complete -c orchctl -n '__orchctl_argument \'events\' 1+' -f -k -a '(__orchctl_candidates any-many)'

complete -c orchctl -n '__orchctl_at \'prune\'' -l older-than -r -f -d 'Sessions that ended longer ago than this.'
complete -c orchctl -n '__orchctl_at \'prune\'' -l size -r -f -d 'The oldest, until the output of the rest is no more.'
complete -c orchctl -n '__orchctl_at \'prune\'' -l output -d 'Take their output alone; live sessions may be named too.'
complete -c orchctl -n '__orchctl_at \'prune\'' -l dry-run -d 'Only say what would go.'
complete -c orchctl -n '__orchctl_at \'prune\'' -s m -l manager -r -f -k -a '(__orchctl_candidates managers)' -d 'Those of a manager and below.'
complete -c orchctl -n '__orchctl_at \'prune\'' -s l -l label -r -f -d 'Those with this label.'
complete -c orchctl -n '__orchctl_at \'prune\'' -l repo -r -F -d 'Those in the git work tree that PATH lies in.'
complete -c orchctl -n '__orchctl_at \'prune\'' -l all -d 'All sessions.'
complete -c orchctl -n '__orchctl_at \'prune\'' -l json -d 'JSON on stdout.'
complete -c orchctl -n '__orchctl_at \'prune\'' -l template -r -f -d 'Fields of the JSON in a text: \'{id}\\t{state}\'.'
complete -c orchctl -n '__orchctl_at \'prune\'' -s q -l quiet -d 'Ids only in listings, else nothing but errors.'
complete -c orchctl -n '__orchctl_at \'prune\'' -s h -l help -d 'Show this message and exit.'
complete -c orchctl -n '__orchctl_argument \'prune\' 1+' -f -k -a '(__orchctl_candidates any-many)'

complete -c orchctl -n '__orchctl_at \'audit\'' -l verify -d 'Check that the journal is what it was.'
complete -c orchctl -n '__orchctl_at \'audit\'' -l head -r -f -d 'With --verify: a head that was noted earlier.'
complete -c orchctl -n '__orchctl_at \'audit\'' -l since -r -f -d 'Where to begin.'
complete -c orchctl -n '__orchctl_at \'audit\'' -l json -d 'JSON on stdout.'
complete -c orchctl -n '__orchctl_at \'audit\'' -l template -r -f -d 'Fields of the JSON in a text: \'{id}\\t{state}\'.'
complete -c orchctl -n '__orchctl_at \'audit\'' -s q -l quiet -d 'Ids only in listings, else nothing but errors.'
complete -c orchctl -n '__orchctl_at \'audit\'' -s h -l help -d 'Show this message and exit.'
complete -c orchctl -n '__orchctl_argument \'audit\' 1+' -f -k -a '(__orchctl_candidates any-many)'

complete -c orchctl -n '__orchctl_at \'limits\'' -l json -d 'JSON on stdout.'
complete -c orchctl -n '__orchctl_at \'limits\'' -l template -r -f -d 'Fields of the JSON in a text: \'{id}\\t{state}\'.'
complete -c orchctl -n '__orchctl_at \'limits\'' -s q -l quiet -d 'Ids only in listings, else nothing but errors.'
complete -c orchctl -n '__orchctl_at \'limits\'' -s h -l help -d 'Show this message and exit.'
complete -c orchctl -n '__orchctl_argument \'limits\' 1' -f -k -a '(__orchctl_candidates managers)'

complete -c orchctl -n '__orchctl_at \'config\'' -a check -d 'Say what is wrong in the file: each with its line, and the nearest name that there is.'
complete -c orchctl -n '__orchctl_at \'config\'' -a get -d 'Print one value, written as in the file but without quotes.'
complete -c orchctl -n '__orchctl_at \'config\'' -a path -d 'Print where the file is; it need not be there.'
complete -c orchctl -n '__orchctl_at \'config\'' -a set -d 'Write one setting to the file; comments, order and all the rest of it stay.'
complete -c orchctl -n '__orchctl_at \'config\'' -a show -d 'Show every setting and its value, written as in the file.'
complete -c orchctl -n '__orchctl_at \'config\'' -a unset -d 'Take one setting out of the file, so that the default holds again.'
complete -c orchctl -n '__orchctl_at \'config\'' -s h -l help -d 'Show this message and exit.'

complete -c orchctl -n '__orchctl_at \'config check\'' -l json -d 'JSON on stdout.'
complete -c orchctl -n '__orchctl_at \'config check\'' -l template -r -f -d 'Fields of the JSON in a text: \'{id}\\t{state}\'.'
complete -c orchctl -n '__orchctl_at \'config check\'' -s q -l quiet -d 'Ids only in listings, else nothing but errors.'
complete -c orchctl -n '__orchctl_at \'config check\'' -s h -l help -d 'Show this message and exit.'

complete -c orchctl -n '__orchctl_at \'config get\'' -l json -d 'JSON on stdout.'
complete -c orchctl -n '__orchctl_at \'config get\'' -l template -r -f -d 'Fields of the JSON in a text: \'{id}\\t{state}\'.'
complete -c orchctl -n '__orchctl_at \'config get\'' -s q -l quiet -d 'Ids only in listings, else nothing but errors.'
complete -c orchctl -n '__orchctl_at \'config get\'' -s h -l help -d 'Show this message and exit.'

complete -c orchctl -n '__orchctl_at \'config path\'' -l set -r -F -d 'Read the settings from PATH from now on; no file is moved.'
complete -c orchctl -n '__orchctl_at \'config path\'' -l json -d 'JSON on stdout.'
complete -c orchctl -n '__orchctl_at \'config path\'' -l template -r -f -d 'Fields of the JSON in a text: \'{id}\\t{state}\'.'
complete -c orchctl -n '__orchctl_at \'config path\'' -s q -l quiet -d 'Ids only in listings, else nothing but errors.'
complete -c orchctl -n '__orchctl_at \'config path\'' -s h -l help -d 'Show this message and exit.'

complete -c orchctl -n '__orchctl_at \'config set\'' -l json -d 'JSON on stdout.'
complete -c orchctl -n '__orchctl_at \'config set\'' -l template -r -f -d 'Fields of the JSON in a text: \'{id}\\t{state}\'.'
complete -c orchctl -n '__orchctl_at \'config set\'' -s q -l quiet -d 'Ids only in listings, else nothing but errors.'
complete -c orchctl -n '__orchctl_at \'config set\'' -s h -l help -d 'Show this message and exit.'

complete -c orchctl -n '__orchctl_at \'config show\'' -l origin -d 'Where each value comes from.'
complete -c orchctl -n '__orchctl_at \'config show\'' -l json -d 'JSON on stdout.'
complete -c orchctl -n '__orchctl_at \'config show\'' -l template -r -f -d 'Fields of the JSON in a text: \'{id}\\t{state}\'.'
complete -c orchctl -n '__orchctl_at \'config show\'' -s q -l quiet -d 'Ids only in listings, else nothing but errors.'
complete -c orchctl -n '__orchctl_at \'config show\'' -s h -l help -d 'Show this message and exit.'

complete -c orchctl -n '__orchctl_at \'config unset\'' -l json -d 'JSON on stdout.'
complete -c orchctl -n '__orchctl_at \'config unset\'' -l template -r -f -d 'Fields of the JSON in a text: \'{id}\\t{state}\'.'
complete -c orchctl -n '__orchctl_at \'config unset\'' -s q -l quiet -d 'Ids only in listings, else nothing but errors.'
complete -c orchctl -n '__orchctl_at \'config unset\'' -s h -l help -d 'Show this message and exit.'

complete -c orchctl -n '__orchctl_at \'doctor\'' -l json -d 'JSON on stdout.'
complete -c orchctl -n '__orchctl_at \'doctor\'' -l template -r -f -d 'Fields of the JSON in a text: \'{id}\\t{state}\'.'
complete -c orchctl -n '__orchctl_at \'doctor\'' -s q -l quiet -d 'Ids only in listings, else nothing but errors.'
complete -c orchctl -n '__orchctl_at \'doctor\'' -s h -l help -d 'Show this message and exit.'

complete -c orchctl -n '__orchctl_at \'supervisor\'' -a logs -d 'Show what the supervisor, its zygote and the sessions\' own processes had to say.'
complete -c orchctl -n '__orchctl_at \'supervisor\'' -a restart -d 'Replace it by the version that is installed now; sessions and their commands go on.'
complete -c orchctl -n '__orchctl_at \'supervisor\'' -a run -d 'Run it in the foreground, for a service manager; SIGTERM stops it and leaves the sessions.'
complete -c orchctl -n '__orchctl_at \'supervisor\'' -a start -d 'Start it if it is not running.'
complete -c orchctl -n '__orchctl_at \'supervisor\'' -a status -d 'Say whether it runs, and where.'
complete -c orchctl -n '__orchctl_at \'supervisor\'' -a stop -d 'Stop it; refused while sessions live, unless they are killed or left.'
complete -c orchctl -n '__orchctl_at \'supervisor\'' -s h -l help -d 'Show this message and exit.'

complete -c orchctl -n '__orchctl_at \'supervisor logs\'' -s f -l follow -d 'Go on with what comes.'
complete -c orchctl -n '__orchctl_at \'supervisor logs\'' -s n -l lines -r -f -a 'all' -d 'How many lines. [default: 50]'
complete -c orchctl -n '__orchctl_at \'supervisor logs\'' -l json -d 'JSON on stdout.'
complete -c orchctl -n '__orchctl_at \'supervisor logs\'' -l template -r -f -d 'Fields of the JSON in a text: \'{id}\\t{state}\'.'
complete -c orchctl -n '__orchctl_at \'supervisor logs\'' -s q -l quiet -d 'Ids only in listings, else nothing but errors.'
complete -c orchctl -n '__orchctl_at \'supervisor logs\'' -s h -l help -d 'Show this message and exit.'

complete -c orchctl -n '__orchctl_at \'supervisor restart\'' -l json -d 'JSON on stdout.'
complete -c orchctl -n '__orchctl_at \'supervisor restart\'' -l template -r -f -d 'Fields of the JSON in a text: \'{id}\\t{state}\'.'
complete -c orchctl -n '__orchctl_at \'supervisor restart\'' -s q -l quiet -d 'Ids only in listings, else nothing but errors.'
complete -c orchctl -n '__orchctl_at \'supervisor restart\'' -s h -l help -d 'Show this message and exit.'

complete -c orchctl -n '__orchctl_at \'supervisor run\'' -s h -l help -d 'Show this message and exit.'

complete -c orchctl -n '__orchctl_at \'supervisor start\'' -l json -d 'JSON on stdout.'
complete -c orchctl -n '__orchctl_at \'supervisor start\'' -l template -r -f -d 'Fields of the JSON in a text: \'{id}\\t{state}\'.'
complete -c orchctl -n '__orchctl_at \'supervisor start\'' -s q -l quiet -d 'Ids only in listings, else nothing but errors.'
complete -c orchctl -n '__orchctl_at \'supervisor start\'' -s h -l help -d 'Show this message and exit.'

complete -c orchctl -n '__orchctl_at \'supervisor status\'' -l json -d 'JSON on stdout.'
complete -c orchctl -n '__orchctl_at \'supervisor status\'' -l template -r -f -d 'Fields of the JSON in a text: \'{id}\\t{state}\'.'
complete -c orchctl -n '__orchctl_at \'supervisor status\'' -s q -l quiet -d 'Ids only in listings, else nothing but errors.'
complete -c orchctl -n '__orchctl_at \'supervisor status\'' -s h -l help -d 'Show this message and exit.'

complete -c orchctl -n '__orchctl_at \'supervisor stop\'' -l kill -d 'End all sessions first.'
complete -c orchctl -n '__orchctl_at \'supervisor stop\'' -l leave -d 'Let the sessions go on; the next command adopts them.'
complete -c orchctl -n '__orchctl_at \'supervisor stop\'' -l json -d 'JSON on stdout.'
complete -c orchctl -n '__orchctl_at \'supervisor stop\'' -l template -r -f -d 'Fields of the JSON in a text: \'{id}\\t{state}\'.'
complete -c orchctl -n '__orchctl_at \'supervisor stop\'' -s q -l quiet -d 'Ids only in listings, else nothing but errors.'
complete -c orchctl -n '__orchctl_at \'supervisor stop\'' -s h -l help -d 'Show this message and exit.'

complete -c orchctl -n '__orchctl_at \'completion\'' -l json -d 'JSON on stdout.'
complete -c orchctl -n '__orchctl_at \'completion\'' -l template -r -f -d 'Fields of the JSON in a text: \'{id}\\t{state}\'.'
complete -c orchctl -n '__orchctl_at \'completion\'' -s q -l quiet -d 'Ids only in listings, else nothing but errors.'
complete -c orchctl -n '__orchctl_at \'completion\'' -s h -l help -d 'Show this message and exit.'
complete -c orchctl -n '__orchctl_argument \'completion\' 1' -f -a 'bash zsh fish'

complete -c orchctl -n '__orchctl_at \'schema\'' -l json -d 'JSON on stdout.'
complete -c orchctl -n '__orchctl_at \'schema\'' -l template -r -f -d 'Fields of the JSON in a text: \'{id}\\t{state}\'.'
complete -c orchctl -n '__orchctl_at \'schema\'' -s q -l quiet -d 'Ids only in listings, else nothing but errors.'
complete -c orchctl -n '__orchctl_at \'schema\'' -s h -l help -d 'Show this message and exit.'
complete -c orchctl -n '__orchctl_argument \'schema\' 1' -f -a 'session sessions done-to result history tail event search screen export wait expected sent interrupted lease lease-taken lease-released lease-transferred pending replied harnesses kill pruned verify supervisor supervisor-stopped supervisor-restarted supervisor-log audit limits settings setting settings-path settings-check doctor completion error'
