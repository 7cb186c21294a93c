// Command stand-in speaks vLLM 0.25.1's HTTP interface and prints its log lines. It is a STAND-IN: it loads no model and
// answers with one fixed sentence. The end-to-end tests run it where the pinned images cannot be downloaded.
//
// It is a multi-call program: what it does depends on the name it is called by (vllm, python3, sh, sleep, stand-in).
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

func main() {
	os.Exit(call(filepath.Base(os.Args[0]), os.Args[1:]))
}

// call runs one of the programs that this one stands for and gives its exit status.
func call(name string, arguments []string) int {
	switch name {
	case "vllm":
		return vllm(arguments)
	case "python3", "python":
		return python(arguments)
	case "sh", "bash":
		return shell(arguments)
	case "sleep":
		return sleep(arguments)
	}
	return control(arguments)
}

func vllm(arguments []string) int {
	if len(arguments) > 0 && (arguments[0] == "--version" || arguments[0] == "-v") {
		fmt.Println(readSettings().version())
		return 0
	}
	if len(arguments) > 1 && arguments[0] == "bench" && arguments[1] == "throughput" {
		return bench(arguments[2:])
	}
	if len(arguments) == 0 || arguments[0] != "serve" {
		return usage("the following arguments are required: serve")
	}
	return serve(arguments[1:])
}

// bench prints what `vllm bench throughput` ends with, for made-up speeds.
func bench(arguments []string) int {
	settings := readSettings()
	model := ""
	for at, word := range arguments {
		if word == "--model" && at+1 < len(arguments) {
			model = arguments[at+1]
		}
	}
	if model == "" {
		return usage("unrecognized arguments: bench throughput without --model")
	}
	time.Sleep(time.Duration(settings.StartSeconds * float64(time.Second)))
	if settings.failure(model) != "" {
		fmt.Fprintln(os.Stderr, "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}")
		return 1
	}
	fmt.Println("Throughput: 1.53 requests/s, 391.20 total tokens/s, 195.60 output tokens/s")
	fmt.Println("Total num prompt tokens:  8192")
	fmt.Println("Total num output tokens:  8192")
	return 0
}

// fetch stands for `snapshot_download`: it leaves a file in the model cache.
func fetch(model, revision string) int {
	cache := os.Getenv("HF_HOME")
	if cache == "" {
		cache = "/root/.cache/huggingface"
	}
	folder := filepath.Join(cache, "hub", "models--"+strings.ReplaceAll(model, "/", "--"), "snapshots", revision)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		fmt.Fprintln(os.Stderr, "stand-in:", err)
		return 1
	}
	time.Sleep(time.Duration(readSettings().StartSeconds * float64(time.Second)))
	fmt.Println("complete")
	return 0
}

// python answers any `-c CODE` with the line that the version probe of amd-vllm asks for, but code that downloads a model.
func python(arguments []string) int {
	if len(arguments) == 0 || arguments[0] == "--version" || arguments[0] == "-V" {
		fmt.Println("Python 3.12.3")
		return 0
	}
	if arguments[0] == "-m" && len(arguments) > 1 {
		if strings.HasPrefix(arguments[1], "vllm.entrypoints.cli") {
			return vllm(arguments[2:])
		}
		return serve(arguments[2:])
	}
	if len(arguments) > 3 && strings.Contains(arguments[1], "snapshot_download") {
		return fetch(arguments[2], arguments[3])
	}
	settings := readSettings()
	if settings.failure("") == "probe-broken" {
		fmt.Fprintln(os.Stderr, "Traceback (most recent call last):\n  File \"<string>\", line 1, in <module>\nModuleNotFoundError: No module named 'vllm'")
		return 1
	}
	line, _ := json.Marshal(settings.Stack)
	fmt.Println(string(line))
	return 0
}

// shell runs `-c "[exec] program words"`: no expansion, single and double quotes only.
func shell(arguments []string) int {
	if len(arguments) < 2 || arguments[0] != "-c" {
		fmt.Fprintln(os.Stderr, "stand-in: this is no shell; only -c 'program words' is understood")
		return 2
	}
	words := split(arguments[1])
	if len(words) > 0 && words[0] == "exec" {
		words = words[1:]
	}
	if len(words) == 0 {
		return 0
	}
	return call(filepath.Base(words[0]), words[1:])
}

func split(text string) []string {
	var words []string
	var word strings.Builder
	quote, started := rune(0), false
	for _, letter := range text {
		switch {
		case quote != 0 && letter == quote:
			quote = 0
		case quote == 0 && (letter == '\'' || letter == '"'):
			quote, started = letter, true
		case quote == 0 && (letter == ' ' || letter == '\n' || letter == '\t'):
			if started {
				words = append(words, word.String())
			}
			word.Reset()
			started = false
		default:
			word.WriteRune(letter)
			started = true
		}
	}
	if started {
		words = append(words, word.String())
	}
	return words
}

func sleep(arguments []string) int {
	seconds := 1e9
	if len(arguments) > 0 && arguments[0] != "infinity" {
		seconds, _ = strconv.ParseFloat(arguments[0], 64)
	}
	time.Sleep(time.Duration(seconds * float64(time.Second)))
	return 0
}

// control is for tests: `docker exec CONTAINER /stand-in fail KIND` changes a running server, `fail none` heals it.
func control(arguments []string) int {
	if len(arguments) == 2 && arguments[0] == "fail" {
		if err := os.WriteFile(failureFile, []byte(arguments[1]), 0o644); err != nil {
			fmt.Fprintln(os.Stderr, "stand-in:", err)
			return 1
		}
		return 0
	}
	fmt.Fprintln(os.Stderr, "stand-in for vLLM: call it as `vllm serve MODEL …`, or `stand-in fail KIND|none`")
	return 2
}
