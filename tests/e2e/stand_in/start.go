package main

import (
	"embed"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"
)

//go:embed recorded/*.log
var recorded embed.FS

var (
	stamp    = regexp.MustCompile(`\b\d\d-\d\d \d\d:\d\d:\d\d\b`)
	apiPid   = regexp.MustCompile(`\(APIServer pid=\d+\)`)
	otherPid = regexp.MustCompile(`\((EngineCore|Worker) pid=\d+\)`)
)

// Engine is what the start decides and the answers repeat.
type Engine struct {
	Arguments   Arguments
	Settings    Settings
	Names       []string // served model names
	MaxModelLen int64
	KVTokens    int64
	BlockSize   int64
	Bound       string // host:port
}

func newEngine(arguments Arguments, settings Settings) Engine {
	engine := Engine{Arguments: arguments, Settings: settings, Names: arguments.Values["--served-model-name"]}
	if len(engine.Names) == 0 {
		engine.Names = []string{arguments.Model}
	}
	engine.MaxModelLen = number(arguments.get("--max-model-len", ""), settings.MaxModelLen)
	engine.BlockSize = number(arguments.get("--block-size", ""), 128)
	space, err := strconv.ParseFloat(os.Getenv("VLLM_CPU_KVCACHE_SPACE"), 64)
	if err != nil || space <= 0 {
		space = 4
	}
	ranks := number(arguments.get("--tensor-parallel-size", arguments.get("-tp", "")), 1)
	perBlock := max(settings.KVBytesPerToken, 1) * engine.BlockSize
	// KV space is per rank, and each rank holds its share of the heads: tensor parallel 2 gives twice the tokens
	engine.KVTokens = int64(space*(1<<30)) / perBlock * engine.BlockSize * ranks
	engine.Bound = arguments.get("--host", "0.0.0.0") + ":" + arguments.get("--port", "8000")
	return engine
}

func max(a, b int64) int64 {
	if a > b {
		return a
	}
	return b
}

func number(text string, otherwise int64) int64 {
	if value, err := strconv.ParseInt(text, 10, 64); err == nil {
		return value
	}
	return otherwise
}

// printLog prints a recorded log with this run's times, process ids and names; `upTo` (if not "") is the last line's mark.
func (e Engine) printLog(name, upTo string) {
	text, err := recorded.ReadFile("recorded/" + name + ".log")
	if err != nil {
		fmt.Println("stand-in: no recorded log of the name", name)
		return
	}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	replace := e.replacer()
	for _, line := range lines {
		fmt.Println(e.line(replace.Replace(line)))
		if strings.Contains(line, "Starting to load model") {
			time.Sleep(time.Duration(e.Settings.StartSeconds * float64(time.Second)))
		}
		if upTo != "" && strings.Contains(line, upTo) {
			return
		}
	}
}

// line gives a recorded line this run's time and process ids.
func (e Engine) line(text string) string {
	text = stamp.ReplaceAllString(text, time.Now().Format("01-02 15:04:05"))
	text = apiPid.ReplaceAllString(text, fmt.Sprintf("(APIServer pid=%d)", os.Getpid()))
	return otherPid.ReplaceAllString(text, fmt.Sprintf("($1 pid=%d)", os.Getpid()+26))
}

// replacer swaps what the recorded run had for what this one has.
func (e Engine) replacer() *strings.Replacer {
	space := os.Getenv("VLLM_CPU_KVCACHE_SPACE")
	if value, err := strconv.ParseFloat(space, 64); err == nil {
		space = strconv.FormatFloat(value, 'f', -1, 64)
		if !strings.Contains(space, ".") {
			space += ".0"
		}
	}
	bind := os.Getenv("VLLM_CPU_OMP_THREADS_BIND")
	return strings.NewReplacer(
		"/models/tiny", e.Arguments.Model,
		"0.25.1", e.Settings.version(),
		"BIND='0-1'", "BIND='"+bind+"'",
		"core ids=[0, 1]", "core ids=["+strings.Join(cpus(bind), ", ")+"]",
		"max_seq_len=2048", fmt.Sprint("max_seq_len=", e.MaxModelLen),
		"max model len 2048", fmt.Sprint("max model len ", e.MaxModelLen),
		"(1.0/13.46) GiB", "("+space+"/13.46) GiB",
		"2,097,152 tokens", thousands(e.KVTokens)+" tokens",
		"2,048 tokens per request: 1024.00x", fmt.Sprintf("%s tokens per request: %.2fx", thousands(e.MaxModelLen), e.concurrency()),
		"http://0.0.0.0:8120", "http://"+e.Bound,
		"'port': 8120, ", "'port': "+e.Arguments.get("--port", "8000")+", ",
		"'max_model_len': 2048", fmt.Sprint("'max_model_len': ", e.MaxModelLen),
		"['tiny']", "['"+strings.Join(e.Names, "', '")+"']",
		", 'load_format': 'dummy'", "",
		"[6223]", fmt.Sprintf("[%d]", os.Getpid()),
	)
}

// concurrency is how many requests of the full length fit: whole blocks.
func (e Engine) concurrency() float64 {
	blocks := (e.MaxModelLen + e.BlockSize - 1) / e.BlockSize
	return float64(e.KVTokens/e.BlockSize) / float64(max(blocks, 1))
}

func thousands(value int64) string {
	text := strconv.FormatInt(value, 10)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// cpus lists the numbers of a CPU list like "0-3,8", for the first rank ("0-3|4-7") only.
func cpus(list string) []string {
	first, _, _ := strings.Cut(list, "|")
	var numbers []string
	for _, part := range strings.Split(first, ",") {
		from, to, found := strings.Cut(part, "-")
		if !found {
			to = from
		}
		for cpu := number(from, 0); part != "" && cpu <= number(to, -1); cpu++ {
			numbers = append(numbers, strconv.FormatInt(cpu, 10))
		}
	}
	return numbers
}
