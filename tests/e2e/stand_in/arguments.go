package main

import (
	_ "embed"
	"fmt"
	"os"
	"strings"
)

//go:embed flags.txt
var flagList string

// Arguments are the options of `vllm serve` as given: dashes in the names, every value in order.
type Arguments struct {
	Model  string
	Values map[string][]string
	Order  []string
}

func (a Arguments) get(name, otherwise string) string {
	if values := a.Values[name]; len(values) > 0 {
		return values[0]
	}
	return otherwise
}

// knownFlags maps each option to what follows it: bool, value or many.
func knownFlags(extra map[string]string) map[string]string {
	known := map[string]string{"--model": "value"}
	for _, line := range strings.Split(flagList, "\n") {
		if name, kind, found := strings.Cut(line, " "); found && strings.HasPrefix(name, "-") {
			known[name] = kind
		}
	}
	for name, kind := range extra {
		known[name] = kind
	}
	return known
}

// parse reads the arguments as vLLM's parser does; unknown ones come back in the second value, in their order.
func parse(words []string, known map[string]string) (Arguments, []string) {
	result := Arguments{Values: map[string][]string{}}
	var unknown []string
	for i := 0; i < len(words); {
		word := words[i]
		i++
		if !isOption(word) {
			if result.Model == "" {
				result.Model = word
			} else {
				unknown = append(unknown, word)
			}
			continue
		}
		name, value, inline := strings.Cut(word, "=")
		kind, name := lookUp(name, known)
		if kind == "" {
			unknown = append(unknown, word)
			// argparse reports the value of an unknown option too
			if i < len(words) && !isOption(words[i]) {
				unknown = append(unknown, words[i])
				i++
			}
			continue
		}
		values := []string{}
		if inline {
			values = append(values, value)
		}
		for i < len(words) && !isOption(words[i]) && kind != "bool" && (kind == "many" || len(values) == 0) {
			values = append(values, words[i])
			i++
		}
		result.Values[name] = values // the last one counts
		result.Order = append(result.Order, name)
	}
	if model := result.get("--model", ""); result.Model == "" {
		result.Model = model
	}
	return result, unknown
}

func isOption(word string) bool {
	return len(word) > 1 && word[0] == '-' && (word[1] < '0' || word[1] > '9')
}

// lookUp gives the kind of an option and its usual name: underscores count as dashes, `--no-x` is the other side of `--x`,
// `--config.key` sets one key of a JSON option.
func lookUp(name string, known map[string]string) (string, string) {
	if strings.HasPrefix(name, "--") {
		name = "--" + strings.ReplaceAll(name[2:], "_", "-")
	}
	if kind := known[name]; kind != "" {
		return kind, name
	}
	if positive := "--" + strings.TrimPrefix(name, "--no-"); known[positive] == "bool" {
		return "bool", name
	}
	if base, _, found := strings.Cut(name, "."); found && known[base] != "" {
		return "value", name
	}
	if strings.HasPrefix(name, "-O") {
		return "bool", name
	}
	return "", name
}

// usage prints what vLLM's command line prints for a wrong use; exit status 2.
func usage(message string) int {
	fmt.Fprintln(os.Stderr, "usage: main.py [-h] [-v]\n               {chat,complete,serve,launch,bench,collect-env,run-batch} ...")
	fmt.Fprintln(os.Stderr, "main.py: error: "+message)
	return 2
}
