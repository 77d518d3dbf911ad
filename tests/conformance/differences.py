"""Where another shell answers otherwise than bash, and why. Data only.

Such a case is run all the same: an answer has to come, with nothing of ours in it, and the shell can be used on.
"""

from __future__ import annotations

from tests.conformance.case import Case
from tests.conformance.kinds import Kind

_ALL = "zsh dash busybox ksh93 mksh"

# why → case → the shells
DIFFERENCES: dict[str, dict[str, str]] = {
    "It has words of its own, and a status of its own, for what is wrong.": {
        "a here-document without its end": "mksh",
        "a negation alone": "dash busybox mksh",
        "a word that starts with a dash": _ALL,
        "the text ends in an and": _ALL,
        "the text ends in an or": _ALL,
        "the text ends in a pipe": _ALL,
        "the text ends in an and before a comment": _ALL,
        "the text ends in a pipe before a comment line": _ALL,
        "the text ends in the head of a function": _ALL,
        "the text ends in the keyword form of a function head": _ALL,
        "the text ends in an open if": _ALL,
        "the text ends in an open while": _ALL,
        "the text ends in a for without words": _ALL,
        "the text ends in a for without a body": _ALL,
        "the text ends in a select without a body": _ALL,
        "the text ends in an arithmetic for without a body": _ALL,
        "the text ends in an open case": _ALL,
        "the text ends in an open branch": _ALL,
        "the text ends in an open group": _ALL,
        "the text ends in an open subshell": _ALL,
        "an unclosed single quote": _ALL,
        "an unclosed double quote": _ALL,
        "an unclosed dollar quote": _ALL,
        "an unclosed backquote": _ALL,
        "an unclosed substitution": _ALL,
        "an unclosed parameter": _ALL,
        "an unclosed arithmetic command": _ALL,
        "an unclosed index": _ALL,
        "an unclosed condition": _ALL,
        "an unclosed quote on a later line": _ALL,
        "a stray parenthesis": _ALL,
        "a stray brace": _ALL,
        "a stray end of a loop": _ALL,
        "two semicolons": _ALL,
        "the lines before a mistake run, and its line number is true": _ALL,
        "a mistake leaves the state before it": _ALL,
        "the status after a mistake": _ALL,
        "a mistake in an evaluated text": _ALL,
        "an unknown command": _ALL,
        "a directory as a command": _ALL,
        "a file that is no program": _ALL,
        "a missing interpreter": _ALL,
        "a missing directory": _ALL,
        "a missing file to source": _ALL,
        "a missing file to read": _ALL,
        "a division by zero": _ALL,
        "an unset parameter that is required": _ALL,
        "a bad substitution": _ALL,
        "a write to a constant": _ALL,
        "an index before the start of an array": _ALL,
        "a bad integer": _ALL,
        "a local variable outside a function": _ALL,
        "a break outside a loop": _ALL,
        "an unknown option": _ALL,
        "a bad test": _ALL,
        "a bad number": _ALL,
        "too many arguments to exit": _ALL,
        "a shift too far": "zsh dash ksh93 mksh",
        "a child killed by a signal": "zsh mksh",
        "aliases over builtins": "ksh93",
        "a message names the shell alone": _ALL,
        "a closed output": _ALL,
        "exit with a negative status": "dash busybox",
        "exit with a word": _ALL,
        "a missing program takes over": _ALL,
        "return with a word": _ALL,
        "standard output is closed": "zsh mksh",
        "standard input is closed within a text": "mksh",
        "a redirection of the shell that fails": _ALL,
        "a number that is not open": _ALL,
        "an output that cannot be opened": _ALL,
        "a full device": _ALL,
        "a variable and a mistake": _ALL,
        "a directory and a mistake": _ALL,
    },
    "This is bash's language, or a builtin of bash's.": {
        "braces": "dash busybox mksh",
        "line numbers count from the text's first line": "dash",
        "very many lines": "dash",
        "an arithmetic command first": "dash busybox",
        "a function definition only": "dash",
        "the directory": "dash busybox",
        "a declared variable is global": "dash busybox ksh93 mksh",
        "a reference": _ALL,
        "a job can be forgotten": _ALL,
        "builtins that are switched off": _ALL,
        "no search path": _ALL,
        "the functions are the user's": _ALL,
        "the variables are the user's": _ALL,
        "set: no brace expansion": "zsh dash busybox mksh",
        "set: no history": _ALL,
        "many small writes": "dash busybox mksh",
        "logout from a shell that is no login shell": _ALL,
        "a numbered input keeps its place": "dash mksh",
        "a loop that counts": "dash busybox mksh",
        "branches that fall through": "zsh dash busybox ksh93",
        "arguments of a function": "dash busybox mksh",
        "local variables": "ksh93",
        "a function that gives a text": _ALL,
        "options of a function": "ksh93",
        "parts of a string": "dash",
        "replacements": _ALL,
        "printing into a variable": "dash busybox mksh",
        "quoting for later use": _ALL,
        "arithmetic": "dash mksh",
        "counting up": "zsh dash busybox",
        "large numbers": "dash ksh93 mksh",
        "a sourced file with arguments": "dash",
        "functions for a nested shell": _ALL,
        "waiting for the next": _ALL,
        "measuring": _ALL,
        "measuring a failure": "zsh dash busybox mksh",
        "measuring nothing": _ALL,
        "the clock": _ALL,
        "a search path for one text": _ALL,
    },
    "It has no such arrays, maps or lists, or spells and counts them in its own way.": {
        "an array": "zsh dash busybox",
        "a map": "dash busybox ksh93 mksh",
        "the statuses of a pipe": "zsh dash busybox ksh93",
        "input for a mapped array": _ALL,
        "the name of a function": _ALL,
        "lengths and indirection": _ALL,
        "arrays": "zsh dash busybox mksh",
        "parts of an array": "dash busybox ksh93 mksh",
        "maps": _ALL,
        "lines into an array": _ALL,
        "words into an array": "zsh dash busybox mksh",
        "an array to a function by name": "zsh dash busybox ksh93",
        "a pipe that is closed early": "zsh dash busybox ksh93",
        "jobs side by side": "zsh dash busybox",
        "a co-process": _ALL,
    },
    "It has no [[ ]], or other operators in it.": {
        "a condition first": "dash",
        "a pattern's groups": _ALL,
        "nested conditions": "dash",
        "comparisons": "dash busybox mksh",
        "a script that does it all at once": "dash busybox mksh",
    },
    "It has no such redirection, quoting or substitution.": {
        "escapes in dollar quotes": "dash",
        "a here-string": "dash busybox",
        "standard output goes through a pipe": "dash mksh",
        "a named number": "dash busybox mksh",
        "both by short form": "dash busybox ksh93",
        "both through a pipe": "dash busybox ksh93 mksh",
        "process substitution": "dash busybox mksh",
        "a loop with its own input and output": "dash busybox",
        "a string split at a character": "dash busybox",
        "a sourced stream": "dash mksh",
        "a substitution from a file": "dash busybox",
        "differences of two outputs": "dash mksh",
        "the arguments of a program": "dash",
        "a read that takes too long": _ALL,
    },
    "It has other options, or other letters for them.": {
        "set: nounset": _ALL,
        "nounset stops a text within loops and functions": _ALL,
        "set: pipefail": "dash",
        "xtrace with a prompt that runs commands": "zsh dash busybox mksh",
        "xtrace into a file": "zsh dash ksh93 mksh",
        "set: noclobber": _ALL,
        "set: noglob": "zsh",
        "set: keyword": "zsh dash busybox",
        "set: physical": _ALL,
        "set: no job control": "ksh93 mksh",
        "set: no command hashing": "dash busybox",
        "set: posix": "zsh dash busybox",
        "set: no line editing": "busybox",
        "set: functrace and errtrace": "dash busybox ksh93 mksh",
        "errexit from before and a mistake": _ALL,
        "errexit with pipefail": "dash",
        "a pipe with pipefail": "dash",
        "a variable and an abort": _ALL,
        "a directory and an abort": _ALL,
        "a missing directory under errexit": "ksh93 mksh",
        "too long: under xtrace": "zsh",
    },
    "It has no shopt.": {
        "the options of an interactive shell": _ALL,
        "set: all kinds of options": _ALL,
        "set: nullglob": _ALL,
        "set: failglob": _ALL,
        "set: extglob": _ALL,
        "set: nocasematch": _ALL,
        "set: no aliases": _ALL,
        "set: escapes in echo": _ALL,
        "set: a pipe's last part in this shell": _ALL,
        "set: extended debugging": _ALL,
        "set: a failed exec does not end the shell": _ALL,
        "set: no search for sourced files": _ALL,
    },
    "It has no directory stack, or shows it in its own way.": {
        "the directory stack": "dash busybox ksh93 mksh",
        "the directory stack stays": "dash busybox ksh93 mksh",
    },
    "It has no such trap, or runs it at other times.": {
        "a silent DEBUG trap": "dash busybox mksh",
        "a DEBUG trap that fails": "dash busybox mksh",
        "a DEBUG trap that is traced everywhere": "dash busybox ksh93 mksh",
        "an ERR trap fires once for a failure": "dash",
        "an ERR trap sees the status": "dash",
        "an ERR trap in the same text": "dash",
        "an ERR trap and a failure that is handled": "dash",
        "an ERR trap that is inherited": "dash ksh93 mksh",
        "an ERR trap and a return": "dash busybox",
        "a RETURN trap": _ALL,
        "a RETURN trap within a traced function": _ALL,
        "a CHLD trap runs once for a child": "zsh ksh93",
    },
    (
        "A DEBUG trap runs for every command of a sourced file, and so for the lines around the text; the "
        "status is right."
    ): {
        "a DEBUG trap that prints, in the same text": _ALL,
        "a DEBUG trap that prints, from before": _ALL,
    },
    "It has no PROMPT_COMMAND, and words of its own for the rest.": {
        "set: the prompt command prints, then an abort": _ALL,
        "set: the prompt command becomes an array": "dash busybox",
        "set: the prompt command is removed, then a mistake": _ALL,
    },
    ("The only mark is in PS1: a text that replaces it and stops is followed by no mark. That is a clear error."): {
        "a text that removes the prompt command and stops": _ALL,
    },
    (
        "It tells of jobs in its own way. zsh counts what it runs itself as jobs too, so that numbers do not "
        "begin with 1."
    ): {
        "an ampersand at the end": "zsh ksh93 mksh",
        "a job can be waited for later": _ALL,
        "jobs can be listed and ended by number": _ALL,
        "a job can be taken to the front": _ALL,
        "a job of the same text": "zsh dash ksh93 mksh",
        "a job of an earlier text": "zsh dash ksh93 mksh",
        "a job that writes at some time": "zsh ksh93 mksh",
        "a job outlives its text and its output is closed": "zsh ksh93 mksh",
        "exit with a job left": "zsh ksh93 mksh",
        "exit from a job": _ALL,
        "no input for a pipe and a job": "zsh dash ksh93 mksh",
        "waiting for all": "dash busybox",
        "a job that is ended": "ksh93",
        "a job that stops and goes on": "ksh93",
        "a program that stops itself": "zsh ksh93 mksh",
        "a directory that is missing": "ksh93 mksh",
        "a file as a directory": "ksh93 mksh",
        "too long: waiting for a job": "zsh dash busybox mksh",
    },
    "It prints the same thing in another form.": {
        "a mask for new files": "zsh mksh",
        "a child killed by TERM, and then more": "zsh ksh93 mksh",
        "the traps are the user's": _ALL,
        "the name of the shell": _ALL,
        "no open files but the shell's own": _ALL,
        "what a constant prints": _ALL,
        "a trap is listed and removed": _ALL,
    },
    "It takes signals that are sent to the shell itself in its own way.": {
        "TERM does not end an interactive shell": "mksh",
        "the shell hangs up": "zsh ksh93",
        "the shell gets a signal that ends it": "ksh93",
        "an EXIT trap and a hang-up": _ALL,
    },
    "It ends the line at other times when it is interrupted.": {
        "a child interrupts itself": "ksh93",
        "the shell is interrupted by its own text, and a prompt command prints": "zsh ksh93",
        "the shell is interrupted by its own text": "zsh ksh93",
        "too long: a read from the terminal": "ksh93",
    },
    "An interrupt that ends a subshell ends the line once more, or does not end the text.": {
        "too long: a subshell": "zsh ksh93 mksh",
    },
    "It names the file that is read in each line of the trace, and that is ours.": {
        "xtrace in the same text": "zsh",
        "xtrace from before shows the text alone": "zsh ksh93 mksh",
    },
    (
        "The line that is typed stays in its memory for a while, or in a history that is this session's "
        "alone. The user's file has none of it."
    ): {
        "the history stays empty": _ALL,
    },
    "Variables cannot be taken back from the environment, or not all of ours are.": {
        "set: allexport": _ALL,
    },
    (
        "Without the command that makes marks only the prompt tells of the end; the status is right, the "
        "output has what is drawn before a prompt."
    ): {
        "functions over command and builtin": "zsh",
    },
    "Without a line editor nobody undoes what the terminal makes of Enter. That is a clear error.": {
        "stty: newlines arrive as carriage returns": "dash",
    },
    "It has modes of its own at the prompt, which is when they are looked at.": {
        "newlines are not mapped": "zsh",
    },
    "It needs its standard error to be the terminal.": {
        "standard error goes to a file": "ksh93",
    },
    "Numbered files have one digit, or are not for programs.": {
        "a high number": "zsh dash ksh93 mksh",
        "a lock": "ksh93 mksh",
    },
    "Its pipes are sockets.": {
        "output that nobody reads": "ksh93",
    },
    "A stream that is sent to two places goes to both.": {
        "errors before output": "zsh",
        "streams swapped": "zsh",
    },
    "The last part of a pipe is run in this shell.": {
        "a loop at the end of a pipe": "zsh ksh93",
    },
    "It does not split what a variable has into words.": {
        "a word separator for one text": "zsh",
    },
    "A pattern that matches nothing is an error.": {
        "globs that match nothing": "zsh",
    },
    "It counts bytes, or half characters, not letters.": {
        "letters beyond ASCII": "dash mksh",
        "a locale for one text": "dash",
    },
    "It reads the whole text before it runs the first line of it.": {
        "an alias used on the line after its own": "ksh93",
    },
    "Some builtins cannot be functions.": {
        "functions over builtins": "dash busybox ksh93",
    },
}

# The shell itself never comes back from these: a signal that is sent too early is lost, `%1` is the shell, or a
# function calls itself without end because `((` is no arithmetic there.
ENDLESS = {
    "a job that is ended": "dash busybox mksh",
    "a job that stops and goes on": "zsh dash busybox mksh",
    "a recursive function": "dash busybox",
}


def why(case: Case, kind: Kind) -> str | None:
    """Why this shell answers this case otherwise, if it does."""
    return next((text for text, cases in DIFFERENCES.items() if kind.name in cases.get(case.name, "").split()), None)


def endless(case: Case, kind: Kind) -> bool:
    """Whether the shell itself hangs."""
    return kind.name in ENDLESS.get(case.name, "").split()
