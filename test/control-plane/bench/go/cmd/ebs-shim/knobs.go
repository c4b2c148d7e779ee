package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"
)

// What a test may ask for one volume.
type knob struct {
	FailAttach string `json:"failAttach"`
	FailDetach string `json:"failDetach"`
	DelayMs    int    `json:"delayMs"`
}

// Knobs by volume, so that tests on one control plane do not disturb each other: PUT /vol-1 sets, DELETE /vol-1 takes
// back, and GET / only shows that the shim is there.
type knobs struct {
	mutex  sync.Mutex
	volume map[string]knob
}

func newKnobs() *knobs { return &knobs{volume: map[string]knob{}} }

func (k *knobs) of(volume string) knob {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	return k.volume[volume]
}

func (k *knobs) ServeHTTP(response http.ResponseWriter, request *http.Request) {
	volume := strings.TrimPrefix(request.URL.Path, "/")
	var asked knob
	if request.Method == http.MethodPut {
		if err := json.NewDecoder(request.Body).Decode(&asked); err != nil {
			http.Error(response, err.Error(), http.StatusBadRequest)
			return
		}
	}
	k.mutex.Lock()
	defer k.mutex.Unlock()
	switch request.Method {
	case http.MethodPut:
		k.volume[volume] = asked
	case http.MethodDelete:
		delete(k.volume, volume)
	}
	response.WriteHeader(http.StatusNoContent)
}
