package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
)

type object = map[string]any

// route is one path: the method it takes and its answer.
type route struct {
	method  string
	respond func(Engine, *http.Request) (int, any)
}

var routeTable = map[string]route{
	"/health":              {"GET", func(e Engine, _ *http.Request) (int, any) { return e.health(), nil }},
	"/ping":                {"", func(e Engine, _ *http.Request) (int, any) { return e.health(), nil }},
	"/version":             {"GET", func(e Engine, _ *http.Request) (int, any) { return 200, object{"version": e.Settings.version()} }},
	"/load":                {"GET", func(Engine, *http.Request) (int, any) { return 200, object{"server_load": 0} }},
	"/metrics":             {"", func(e Engine, _ *http.Request) (int, any) { return 200, e.metrics() }},
	"/tokenize":            {"POST", Engine.tokenize},
	"/v1/models":           {"GET", Engine.models},
	"/v1/chat/completions": {"POST", Engine.chat},
	"/v1/completions":      {"POST", Engine.completions},
	"/invocations":         {"POST", Engine.chat},
}

// routes is the whole interface: key, method, answer, access log.
func (e Engine) routes() http.Handler {
	key := os.Getenv("VLLM_API_KEY")
	keys := e.Arguments.Values["--api-key"]
	if len(keys) == 0 && key != "" {
		keys = []string{key}
	}
	return http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		status, body := e.respond(request, keys)
		send(writer, request, status, body)
		e.say("%s - \"%s %s HTTP/1.1\" %d %s", request.RemoteAddr, request.Method, request.URL.RequestURI(), status, http.StatusText(status))
	})
}

func (e Engine) respond(request *http.Request, keys []string) (int, any) {
	// vLLM's key closes /v1 only
	if len(keys) > 0 && strings.HasPrefix(request.URL.Path, "/v1") {
		given := strings.TrimPrefix(request.Header.Get("Authorization"), "Bearer ")
		if !slices.Contains(keys, given) {
			return 401, object{"error": "Unauthorized"}
		}
	}
	found, known := routeTable[request.URL.Path]
	generates := found.method == "POST" && request.URL.Path != "/tokenize"
	if !known || (generates && e.fails("pooling")) {
		return 404, object{"detail": "Not Found"}
	}
	if found.method != "" && request.Method != found.method {
		return 405, object{"detail": "Method Not Allowed"}
	}
	return found.respond(e, request)
}

// send writes an answer: nothing, text (metrics), a stream of events, or JSON.
func send(writer http.ResponseWriter, request *http.Request, status int, body any) {
	writer.Header().Set("Server", "uvicorn")
	switch content := body.(type) {
	case nil:
		writer.Header().Set("Content-Length", "0")
		writer.WriteHeader(status)
	case string:
		writer.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		writer.WriteHeader(status)
		_, _ = io.WriteString(writer, content)
	case []object:
		writer.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		writer.WriteHeader(status)
		for _, event := range content {
			text, _ := json.Marshal(event)
			fmt.Fprintf(writer, "data: %s\n\n", text)
		}
		_, _ = io.WriteString(writer, "data: [DONE]\n\n")
	default:
		text, _ := json.Marshal(content)
		writer.Header().Set("Content-Type", "application/json")
		writer.Header().Set("Content-Length", fmt.Sprint(len(text)))
		writer.WriteHeader(status)
		_, _ = writer.Write(text)
	}
}

// fails tells whether this way of failing is asked for now.
func (e Engine) fails(kind string) bool { return e.Settings.failure(e.Arguments.Model) == kind }

// health says 200 while the engine hangs, as the real one does; 503 when the engine is dead.
func (e Engine) health() int {
	if e.fails("engine-dead") {
		return 503
	}
	return 200
}

func problem(status int, kind string, parameter any, format string, values ...any) (int, any) {
	message := fmt.Sprintf(format, values...)
	return status, object{"error": object{"message": message, "type": kind, "param": parameter, "code": status}}
}

// metrics are the gauges that people watch, in vLLM's names.
func (e Engine) metrics() string {
	labels := fmt.Sprintf(`{engine="0",model_name="%s"}`, e.Names[0])
	blocks := e.KVTokens / e.BlockSize
	return fmt.Sprintf(`# HELP vllm:num_requests_running Number of requests in model execution batches.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running%[1]s 0.0
# HELP vllm:num_requests_waiting Number of requests waiting to be processed.
# TYPE vllm:num_requests_waiting gauge
vllm:num_requests_waiting%[1]s 0.0
# HELP vllm:kv_cache_usage_perc KV-cache usage. 1 means 100 percent usage.
# TYPE vllm:kv_cache_usage_perc gauge
vllm:kv_cache_usage_perc%[1]s 0.0
# HELP vllm:cache_config_info Information of the LLMEngine CacheConfig
# TYPE vllm:cache_config_info gauge
vllm:cache_config_info{block_size="%[2]d",engine="0",num_gpu_blocks="%[3]d"} 1.0
`, labels, e.BlockSize, blocks)
}
