package main

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"
)

// sentence is all that this stand-in ever says; one word counts as one token.
const sentence = "Hello from the stand-in for vLLM: no model was loaded."

// Question is what a request asks, chat and completions alike.
type Question struct {
	Model               string           `json:"model"`
	Messages            []map[string]any `json:"messages"`
	Prompt              any              `json:"prompt"`
	MaxTokens           *int64           `json:"max_tokens"`
	MaxCompletionTokens *int64           `json:"max_completion_tokens"`
	Stream              bool             `json:"stream"`
}

func identifier(prefix string) string {
	random := make([]byte, 8)
	_, _ = rand.Read(random)
	return prefix + "-" + hex.EncodeToString(random)
}

func (e Engine) models(*http.Request) (int, any) {
	names := e.Names
	if e.fails("wrong-model-name") {
		names = []string{"another-model"}
	}
	data := []object{}
	for _, name := range names {
		permission := object{"id": identifier("modelperm"), "object": "model_permission", "created": time.Now().Unix(),
			"allow_create_engine": false, "allow_sampling": true, "allow_logprobs": true, "allow_search_indices": false,
			"allow_view": true, "allow_fine_tuning": false, "organization": "*", "group": nil, "is_blocking": false}
		data = append(data, object{"id": name, "object": "model", "created": time.Now().Unix(), "owned_by": "vllm",
			"root": e.Arguments.Model, "parent": nil, "max_model_len": e.MaxModelLen, "permission": []object{permission}})
	}
	return 200, object{"object": "list", "data": data}
}

// ask reads a question and judges it as vLLM does; the status is 0 when it is fine.
func (e Engine) ask(request *http.Request) (Question, int, any) {
	var question Question
	if err := json.NewDecoder(request.Body).Decode(&question); err != nil {
		status, body := problem(400, "Bad Request", nil, "[{'type': 'json_invalid', 'msg': 'JSON decode error'}]")
		return question, status, body
	}
	known := question.Model == "" || slices.Contains(e.Names, question.Model)
	if !known || e.fails("wrong-model-name") {
		status, body := problem(404, "NotFoundError", "model", "The model `%s` does not exist.", question.Model)
		return question, status, body
	}
	if question.limit() > e.MaxModelLen {
		status, body := problem(400, "BadRequestError", "max_tokens", "'max_tokens' or 'max_completion_tokens' is too large: %d. "+
			"This model's maximum context length is %d tokens.", question.limit(), e.MaxModelLen)
		return question, status, body
	}
	return question, 0, nil
}

func (q Question) limit() int64 {
	if q.MaxCompletionTokens != nil {
		return *q.MaxCompletionTokens
	}
	if q.MaxTokens != nil {
		return *q.MaxTokens
	}
	return 16
}

// text is the sentence cut to the tokens asked for, and why it ends.
func (q Question) text() (string, string, int) {
	words := strings.Fields(sentence)
	if int64(len(words)) <= q.limit() {
		return sentence, "stop", len(words) + 1
	}
	return strings.Join(words[:q.limit()], " "), "length", int(q.limit())
}

func (e Engine) chat(request *http.Request) (int, any) {
	question, status, body := e.ask(request)
	if status == 0 && e.fails("no-chat-template") {
		status, body = problem(400, "BadRequestError", nil, "As of transformers v4.44, default chat template is no longer allowed, "+
			"so you must provide a chat template if the tokenizer does not define one.")
	}
	if status != 0 {
		return status, body
	}
	text, reason, tokens := question.text()
	if question.Stream {
		return 200, e.stream(text, reason)
	}
	message := object{"role": "assistant", "content": text, "refusal": nil, "annotations": nil, "audio": nil,
		"function_call": nil, "reasoning": nil}
	choice := object{"index": 0, "message": message, "logprobs": nil, "finish_reason": reason, "stop_reason": nil,
		"token_ids": nil, "routed_experts": nil}
	answer := e.answerBody("chatcmpl", "chat.completion", choice, 20, tokens)
	for name, value := range (object{"service_tier": nil, "prompt_logprobs": nil, "prompt_token_ids": nil, "prompt_text": nil}) {
		answer[name] = value
	}
	return e.spoil(request, answer, message, "content")
}

func (e Engine) completions(request *http.Request) (int, any) {
	question, status, body := e.ask(request)
	if status != 0 {
		return status, body
	}
	text, reason, tokens := question.text()
	choice := object{"index": 0, "text": text, "logprobs": nil, "finish_reason": reason, "stop_reason": nil, "token_ids": nil,
		"prompt_logprobs": nil, "prompt_token_ids": nil, "routed_experts": nil}
	answer := e.answerBody("cmpl", "text_completion", choice, 1, tokens)
	answer["service_tier"] = nil
	return e.spoil(request, answer, choice, "text")
}

func (e Engine) answerBody(prefix, kind string, choice object, prompt, tokens int) object {
	usage := object{"prompt_tokens": prompt, "total_tokens": prompt + tokens, "completion_tokens": tokens, "prompt_tokens_details": nil}
	return object{"id": identifier(prefix), "object": kind, "created": time.Now().Unix(), "model": e.Names[0],
		"choices": []object{choice}, "system_fingerprint": "vllm-" + e.Settings.version() + "-standin0", "usage": usage,
		"kv_transfer_params": nil, "metrics": nil}
}

// spoil makes a good answer bad in the way that is asked for.
func (e Engine) spoil(request *http.Request, answer, holder object, field string) (int, any) {
	switch e.Settings.failure(e.Arguments.Model) {
	case "health-200-but-dead": // the engine hangs: nothing comes until the client gives up
		<-request.Context().Done()
	case "dies-in-generation": // as the kernel ends a process for memory
		os.Exit(137)
	case "engine-dead":
		return problem(500, "InternalServerError", nil, "EngineCore encountered an issue. See stack trace (above) for the root cause.")
	case "error-body-200":
		_, body := problem(500, "InternalServerError", nil, "EngineCore encountered an issue.")
		return 200, body
	case "empty-choices":
		answer["choices"] = []object{}
	case "empty-text":
		holder[field] = ""
	case "garbage":
		holder[field] = "!!!!!!!!!!!!!!!!"
	}
	return 200, answer
}

func (e Engine) stream(text, reason string) []object {
	id := identifier("chatcmpl")
	event := func(delta object, finish any) object {
		return object{"id": id, "object": "chat.completion.chunk", "created": time.Now().Unix(), "model": e.Names[0],
			"choices": []object{{"index": 0, "delta": delta, "logprobs": nil, "finish_reason": finish}}}
	}
	events := []object{event(object{"role": "assistant", "content": ""}, nil)}
	for _, word := range strings.SplitAfter(text, " ") {
		events = append(events, event(object{"content": word}, nil))
	}
	return append(events, event(object{"content": ""}, reason))
}

func (e Engine) tokenize(request *http.Request) (int, any) {
	var asked struct {
		Prompt string `json:"prompt"`
	}
	if err := json.NewDecoder(request.Body).Decode(&asked); err != nil {
		return problem(400, "Bad Request", nil, "JSON decode error")
	}
	tokens := make([]int, len(strings.Fields(asked.Prompt)))
	for i := range tokens {
		tokens[i] = i + 1
	}
	return 200, object{"count": len(tokens), "max_model_len": e.MaxModelLen, "tokens": tokens, "token_strs": nil}
}
