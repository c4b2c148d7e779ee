package main

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// What a test may ask for one volume.
type knob struct {
	FailAttach string `json:"failAttach"`
	FailDetach string `json:"failDetach"`
	// Says that it has detached, and has not.
	LoseDetach bool `json:"loseDetach"`
	DelayMs    int  `json:"delayMs"`
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

func failAttach(asked knob) string { return asked.FailAttach }
func failDetach(asked knob) string { return asked.FailDetach }

// Takes as long as a test has asked for, and then fails where it has asked for that.
func (k *knobs) hold(ctx context.Context, volume string, failure func(knob) string) error {
	if err := sleep(ctx, time.Duration(k.of(volume).DelayMs)*time.Millisecond); err != nil {
		return err
	}
	if message := failure(k.of(volume)); message != "" {
		return status.Error(codes.Internal, message)
	}
	return nil
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
