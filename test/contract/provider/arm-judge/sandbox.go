package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// The sandbox's ARM, asked in Microsoft's own types.
type sandbox struct{ url string }

// What the sandbox rejected.
type declined struct {
	status int
	code   string
}

func (d declined) Error() string { return fmt.Sprintf("%d %s", d.status, d.code) }

// The versions that the SDK for JavaScript sends: disks have their own version. The fake server keeps none.
func versionFor(path string) string {
	if strings.Contains(path, "/disks/") {
		return "2026-03-02"
	}
	return "2026-04-01"
}

func (s sandbox) call(method, path string, query url.Values, body any) ([]byte, error) {
	sent, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	query.Set("api-version", versionFor(path))
	request, err := http.NewRequest(method, s.url+path+"?"+query.Encode(), bytes.NewReader(sent))
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	got, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode < 400 {
		return got, err
	}
	var said struct{ Error struct{ Code string } }
	if err := json.Unmarshal(got, &said); err != nil {
		return nil, err
	}
	return nil, declined{response.StatusCode, said.Error.Code}
}

// Reads an object into Microsoft's type, all of it: what that type does not hold is a mistake of the sandbox.
func read[T any](s sandbox, path string, query url.Values) (T, error) {
	var object T
	got, err := s.call(http.MethodGet, path, query, nil)
	if err != nil {
		return object, err
	}
	if err := json.Unmarshal(got, &object); err != nil {
		return object, err
	}
	again, err := json.Marshal(object)
	if err != nil {
		return object, err
	}
	var before, after any
	if err := errors.Join(json.Unmarshal(got, &before), json.Unmarshal(again, &after)); err != nil {
		return object, err
	}
	return object, lost("$", before, after)
}

// The first field that stands in the one and not in the other.
func lost(where string, before, after any) error {
	switch was := before.(type) {
	case map[string]any:
		is, _ := after.(map[string]any)
		for key, value := range was {
			kept, ok := is[key]
			if !ok {
				return fmt.Errorf("the interface knows no %s.%s", where, key)
			}
			if err := lost(where+"."+key, value, kept); err != nil {
				return err
			}
		}
	case []any:
		is, _ := after.([]any)
		if len(is) != len(was) {
			return fmt.Errorf("%s has %d members, and had %d", where, len(is), len(was))
		}
		for index, value := range was {
			if err := lost(fmt.Sprintf("%s[%d]", where, index), value, is[index]); err != nil {
				return err
			}
		}
	}
	return nil
}
