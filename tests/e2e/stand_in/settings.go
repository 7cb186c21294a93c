package main

import (
	"encoding/json"
	"os"
	"strconv"
	"strings"
)

const (
	settingsFile = "/stand-in.json"   // baked into the image by the test bed
	failureFile  = "/stand-in.fail"   // written by `stand-in fail KIND`; read at each request
	onceFile     = "/stand-in.failed" // says that a `once:KIND` has failed already
	modelSuffix  = "-fails-"          // a model named …-fails-KIND fails like that
)

// Settings is what the image or the environment says of this stand-in.
type Settings struct {
	Stack           map[string]any    `json:"stack"`              // what the version probe prints
	Fail            string            `json:"fail"`               // KIND or KIND:VALUE
	KVBytesPerToken int64             `json:"kv_bytes_per_token"` // per rank of one
	MaxModelLen     int64             `json:"max_model_len"`      // without --max-model-len
	StartSeconds    float64           `json:"start_seconds"`      // how long loading takes, and fetching
	ExtraFlags      map[string]string `json:"extra_flags"`        // flags that this version knows beside flags.txt
}

// version is the vLLM version that this stand-in plays.
func (s Settings) version() string {
	text, _ := s.Stack["vllm"].(string)
	return text
}

func readSettings() Settings {
	settings := Settings{
		Stack:           map[string]any{"vllm": "0.25.1", "torch": "2.11.0+cpu", "zentorch": nil, "platform": "cpu"},
		KVBytesPerToken: 512, MaxModelLen: 2048, StartSeconds: 0.3,
	}
	if text, err := os.ReadFile(settingsFile); err == nil {
		settings.Stack = nil
		_ = json.Unmarshal(text, &settings)
	}
	if text := os.Getenv("STAND_IN_STACK"); text != "" {
		settings.Stack = nil
		_ = json.Unmarshal([]byte(text), &settings.Stack)
	}
	if value, err := strconv.ParseInt(os.Getenv("STAND_IN_KV_BYTES_PER_TOKEN"), 10, 64); err == nil {
		settings.KVBytesPerToken = value
	}
	if value, err := strconv.ParseFloat(os.Getenv("STAND_IN_START_SECONDS"), 64); err == nil {
		settings.StartSeconds = value
	}
	if value := os.Getenv("STAND_IN_FAIL"); value != "" {
		settings.Fail = value
	}
	return settings
}

// failure is the KIND that is asked for now: by file, by environment or image, by the model's name. "" for none.
func (s Settings) failure(model string) string {
	kind, _, _ := strings.Cut(s.failureText(model), ":")
	return kind
}

// failureValue is what stands after the colon of KIND:VALUE, as a number.
func (s Settings) failureValue(model string, otherwise float64) float64 {
	_, text, _ := strings.Cut(s.failureText(model), ":")
	if value, err := strconv.ParseFloat(text, 64); err == nil {
		return value
	}
	return otherwise
}

func (s Settings) failureText(model string) string {
	if text, err := os.ReadFile(failureFile); err == nil {
		if kind := strings.TrimSpace(string(text)); kind != "none" {
			return kind
		}
		return ""
	}
	text := s.Fail
	if _, suffix, found := strings.Cut(model, modelSuffix); text == "" && found {
		text = suffix
	}
	if kind, found := strings.CutPrefix(text, "once:"); found {
		if _, err := os.Stat(onceFile); err == nil {
			return ""
		}
		return kind
	}
	return text
}
