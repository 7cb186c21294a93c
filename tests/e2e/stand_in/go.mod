module amd-vllm/stand-in

go 1.21
