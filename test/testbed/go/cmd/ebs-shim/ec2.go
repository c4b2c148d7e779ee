package main

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

const apiVersion = "2016-11-15"

// The EC2 Query API, as far as a driver needs it. https://docs.aws.amazon.com/AWSEC2/latest/APIReference/
type ec2 struct {
	endpoint string
	region   string
}

// A call that EC2 rejected.
type refusal struct {
	Code    string `xml:"Errors>Error>Code"`
	Message string `xml:"Errors>Error>Message"`
}

func (r *refusal) Error() string { return r.Code + ": " + r.Message }

func isRefusal(err error, codes ...string) bool {
	var refused *refusal
	return errors.As(err, &refused) && slices.Contains(codes, refused.Code)
}

type attachment struct {
	Volume   string `xml:"volumeId"`
	Instance string `xml:"instanceId"`
	Device   string `xml:"device"`
	State    string `xml:"status"`
}

type volumes struct {
	Volumes []struct {
		Attachments []attachment `xml:"attachmentSet>item"`
	} `xml:"volumeSet>item"`
}

// Attaches and names the device; a volume that is on that very instance already is left as it is.
func (e *ec2) attach(ctx context.Context, volume, instance string) (device string, already bool, err error) {
	taken, err := e.attachments(ctx, url.Values{"Filter.1.Name": {"attachment.instance-id"}, "Filter.1.Value.1": {instance}})
	if err != nil {
		return "", false, err
	}
	if at := slices.IndexFunc(taken, func(a attachment) bool { return a.Volume == volume && a.Instance == instance }); at >= 0 {
		return taken[at].Device, true, nil
	}
	device = freeDevice(taken)
	return device, false, e.call(ctx, "AttachVolume", url.Values{"VolumeId": {volume}, "InstanceId": {instance}, "Device": {device}}, nil)
}

func (e *ec2) detach(ctx context.Context, volume, instance string) error {
	return e.call(ctx, "DetachVolume", url.Values{"VolumeId": {volume}, "InstanceId": {instance}}, nil)
}

// The state of the volume's attachment to the instance, `detached` when there is none.
func (e *ec2) attachmentState(ctx context.Context, volume, instance string) (string, error) {
	held, err := e.attachments(ctx, url.Values{"VolumeId.1": {volume}})
	for _, a := range held {
		if a.Instance == instance {
			return strings.TrimPrefix(a.State, "detached"), err
		}
	}
	return detached, err
}

func (e *ec2) attachments(ctx context.Context, which url.Values) ([]attachment, error) {
	var answer volumes
	err := e.call(ctx, "DescribeVolumes", which, &answer)
	var found []attachment
	for _, volume := range answer.Volumes {
		found = append(found, volume.Attachments...)
	}
	return found, err
}

// Taken at random, so that two attaches at the same time hardly ever ask for the same one.
func freeDevice(taken []attachment) string {
	var free []string
	for first := 'b'; first <= 'c'; first++ {
		for second := 'a'; second <= 'z'; second++ {
			device := fmt.Sprintf("/dev/xvd%c%c", first, second)
			if !slices.ContainsFunc(taken, func(a attachment) bool { return a.Device == device }) {
				free = append(free, device)
			}
		}
	}
	return free[rand.IntN(len(free))]
}

// The signature is not a real one: emulators read the region from it and check nothing.
func (e *ec2) call(ctx context.Context, action string, params url.Values, into any) error {
	params.Set("Action", action)
	params.Set("Version", apiVersion)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, e.endpoint, strings.NewReader(params.Encode()))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
	request.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=shim/20260101/"+e.region+"/ec2/aws4_request, SignedHeaders=host, Signature=none")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	return read(action, answer.StatusCode, body, into)
}

func read(action string, code int, body []byte, into any) error {
	if code != http.StatusOK {
		refused := &refusal{}
		if err := xml.Unmarshal(body, refused); err != nil || refused.Code == "" {
			return fmt.Errorf("%s was answered with %d: %s", action, code, body)
		}
		return refused
	}
	if into == nil {
		return nil
	}
	return xml.Unmarshal(body, into)
}
