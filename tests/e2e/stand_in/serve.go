package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// startFailures are the ways to fail before serving: the recorded log to print, and the exit status.
var startFailures = map[string]int{
	"oom": 1, "kv-too-big": 1, "kv-too-small": 1, "len-too-long": 1, "bad-arch": 1, "remote-code": 1, "mla": 1,
	"no-weights": 1, "gptq-missing": 1, "port-taken": 1, "gated-no-token": 1, "gated-no-license": 1, "not-on-hub": 1,
	"not-on-hub-offline": 1,
}

// serve is `vllm serve`: parse, load (or fail), answer until SIGTERM.
func serve(words []string) int {
	settings := readSettings()
	arguments, unknown := parse(words, knownFlags(settings.ExtraFlags))
	if len(unknown) > 0 {
		return usage("unrecognized arguments: " + strings.Join(unknown, " "))
	}
	if arguments.Model == "" {
		arguments.Model = "Qwen/Qwen3-0.6B" // vLLM's own default
	}
	engine := newEngine(arguments, settings)
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, syscall.SIGINT)
	if status := engine.failAtStart(); status >= 0 {
		return status
	}
	socket, err := bind(engine.Bound)
	if err != nil {
		engine.printLog("port-taken", "")
		return 1
	}
	loaded := make(chan struct{})
	go func() { engine.load(); close(loaded) }()
	select {
	case <-stop: // the real one dies of a signal while it loads
		return 143
	case <-loaded:
	}
	return engine.answer(socket, stop)
}

// failAtStart plays a failure that comes before the port is open; -1 when there is none.
func (e Engine) failAtStart() int {
	model := e.Arguments.Model
	text := e.Settings.failureText(model)
	kind := e.Settings.failure(model)
	if strings.HasPrefix(e.Settings.Fail, "once:") && kind != "" {
		_ = os.WriteFile(onceFile, []byte(text), 0o644)
	}
	if status, known := startFailures[kind]; known {
		e.printLog(kind, "")
		return status
	}
	switch kind {
	case "crash-at-load", "restart-loop":
		e.printLog("ok", "Starting to load model")
		fmt.Println("RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}")
		return 1
	case "graph-capture-oom": // in the words of vLLM and PyTorch on ROCm; not recorded
		e.printLog("ok", "Starting to load model")
		fmt.Println(e.line("(EngineCore pid=0) INFO 11-30 16:27:10 [gpu_model_runner.py:4821] Capturing CUDA graphs (decode, FULL): 35%| 12/35"))
		fmt.Println("torch.OutOfMemoryError: HIP out of memory. Tried to allocate 1.20 GiB. GPU 0 has a total capacity of 191.98 GiB")
		fmt.Println("RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}")
		return 1
	case "exit-137": // a killed process: the log just ends
		e.printLog("ok", "Starting to load model")
		return 137
	}
	return -1
}

// load prints the start of a server that works, as fast as STAND_IN_START_SECONDS and slow-start:SECONDS let it.
func (e Engine) load() {
	if e.Settings.failure(e.Arguments.Model) == "slow-start" {
		e.Settings.StartSeconds = e.Settings.failureValue(e.Arguments.Model, 10)
	}
	switch e.Settings.Stack["platform"] {
	case "zen":
		fmt.Println(e.line("INFO 11-30 16:26:58 [__init__.py:192] AMD Zen CPU detected with zentorch installed, using ZenCpuPlatform."))
	case "rocm":
		fmt.Println(e.line("INFO 11-30 16:26:58 [__init__.py:216] Automatically detected platform rocm."))
	}
	if !maySetMemoryPolicy() {
		fmt.Println("get_mempolicy: Operation not permitted\nset_mempolicy: Operation not permitted")
		fmt.Println("[W1130 17:01:45.888944430 utils.cpp:65] Warning: numa_set_membind failed. errno: 1 (function init_cpu_memory_env)")
	}
	e.printLog("ok", "Route: /inference/v1/generate")
}

// maySetMemoryPolicy tells whether this container has CAP_SYS_NICE, which vLLM needs to bind memory in Docker.
func maySetMemoryPolicy() bool {
	status, _ := os.ReadFile("/proc/self/status")
	for _, line := range strings.Split(string(status), "\n") {
		if text, found := strings.CutPrefix(line, "CapEff:"); found {
			capabilities, _ := strconv.ParseUint(strings.TrimSpace(text), 16, 64)
			return capabilities&(1<<23) != 0
		}
	}
	return false
}

// bind takes the address without listening: until it serves, vLLM's clients are refused.
func bind(address string) (int, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return 0, err
	}
	resolved, err := net.ResolveIPAddr("ip4", host)
	if err != nil {
		return 0, err
	}
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	_ = syscall.SetsockoptInt(socket, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1)
	endpoint := &syscall.SockaddrInet4{Port: int(number(port, 8000))}
	copy(endpoint.Addr[:], resolved.IP.To4())
	return socket, syscall.Bind(socket, endpoint)
}

// answer listens, serves, and shuts down on a signal as uvicorn does.
func (e Engine) answer(socket int, stop chan os.Signal) int {
	if err := syscall.Listen(socket, 2048); err != nil {
		e.printLog("port-taken", "") // two that bound the same port: the second to listen loses
		return 1
	}
	file := os.NewFile(uintptr(socket), "socket")
	listener, err := net.FileListener(file)
	if err != nil {
		fmt.Println("stand-in:", err)
		return 1
	}
	_ = file.Close()
	server := &http.Server{Handler: e.routes()}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	e.say("Started server process [%d]", os.Getpid())
	e.say("Waiting for application startup.")
	e.say("Application startup complete.")
	var dies <-chan time.Time
	if e.Settings.failure(e.Arguments.Model) == "dies-later" {
		dies = time.After(time.Duration(e.Settings.failureValue(e.Arguments.Model, 3) * float64(time.Second)))
	}
	select {
	case <-dies:
		fmt.Printf("(APIServer pid=%d) vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue. See stack trace (above) for the root cause.\n", os.Getpid())
	case <-failed:
		return 1
	case <-stop:
	}
	e.say("Shutting down")
	within, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = server.Shutdown(within)
	_ = server.Close()
	e.say("Waiting for application shutdown.")
	e.say("Application shutdown complete.")
	e.say("Finished server process [%d]", os.Getpid())
	return 0
}

// say prints a line of uvicorn's.
func (e Engine) say(format string, values ...any) {
	fmt.Printf("(APIServer pid=%d) INFO:     %s\n", os.Getpid(), fmt.Sprintf(format, values...))
}
