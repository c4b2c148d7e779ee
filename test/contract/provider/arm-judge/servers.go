package main

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"

	azfake "github.com/Azure/azure-sdk-for-go/sdk/azcore/fake"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	arm "github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v8"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v8/fake"
)

// The subscription is nobody's to check here: the front forwards the path that the generated code took apart.
const subscription = "/subscriptions/a1b2c3d4-0000-4000-8000-00000000aaaa"

func compute(group string) string {
	return subscription + "/resourceGroups/" + group + "/providers/Microsoft.Compute"
}

func declinedBy(err error) (response azfake.ErrorResponder) {
	var said declined
	if errors.As(err, &said) {
		response.SetResponseError(said.status, said.code)
	} else {
		response.SetError(err)
	}
	return response
}

func one[Response any](response Response, err error) (found azfake.Responder[Response], failed azfake.ErrorResponder) {
	if err != nil {
		return found, declinedBy(err)
	}
	found.SetResponse(http.StatusOK, response, nil)
	return found, failed
}

// An order that was accepted: under way at first, and then done, whatever the sandbox is still busy with.
func order[Response any](s sandbox, path string, query url.Values, body any) (poller azfake.PollerResponder[Response], failed azfake.ErrorResponder) {
	if _, err := s.call(http.MethodPost, path, query, body); err != nil {
		return poller, declinedBy(err)
	}
	poller.AddNonTerminalResponse(http.StatusAccepted, nil)
	var response Response
	poller.SetTerminalResponse(http.StatusOK, response, nil)
	return poller, failed
}

// The generated code gives no options at all where the request has none.
func given[Options any](options *Options) (none Options) {
	if options == nil {
		return none
	}
	return *options
}

func expanding[T ~string](expand *T) url.Values {
	query := url.Values{}
	if expand != nil {
		query.Set("$expand", string(*expand))
	}
	return query
}

func skipping(skip *bool) url.Values {
	return url.Values{"skipShutdown": {strconv.FormatBool(skip != nil && *skip)}}
}

func serversOver(s sandbox) *fake.ServerFactory {
	return &fake.ServerFactory{
		DisksServer:                     disksOver(s),
		VirtualMachinesServer:           machinesOver(s),
		VirtualMachineScaleSetVMsServer: instancesOver(s),
	}
}

func disksOver(s sandbox) (server fake.DisksServer) {
	server.Get = func(_ context.Context, group, name string, _ *arm.DisksClientGetOptions) (azfake.Responder[arm.DisksClientGetResponse], azfake.ErrorResponder) {
		disk, err := read[arm.Disk](s, compute(group)+"/disks/"+name, url.Values{})
		return one(arm.DisksClientGetResponse{Disk: disk}, err)
	}
	return server
}

func machinesOver(s sandbox) (server fake.VirtualMachinesServer) {
	at := func(group, name string) string { return compute(group) + "/virtualMachines/" + name }
	server.Get = func(_ context.Context, group, name string, options *arm.VirtualMachinesClientGetOptions) (azfake.Responder[arm.VirtualMachinesClientGetResponse], azfake.ErrorResponder) {
		machine, err := read[arm.VirtualMachine](s, at(group, name), expanding(given(options).Expand))
		return one(arm.VirtualMachinesClientGetResponse{VirtualMachine: machine}, err)
	}
	server.BeginPowerOff = func(_ context.Context, group, name string, options *arm.VirtualMachinesClientBeginPowerOffOptions) (azfake.PollerResponder[arm.VirtualMachinesClientPowerOffResponse], azfake.ErrorResponder) {
		return order[arm.VirtualMachinesClientPowerOffResponse](s, at(group, name)+"/powerOff", skipping(given(options).SkipShutdown), nil)
	}
	server.BeginAttachDetachDataDisks = func(_ context.Context, group, name string, wanted arm.AttachDetachDataDisksRequest, _ *arm.VirtualMachinesClientBeginAttachDetachDataDisksOptions) (azfake.PollerResponder[arm.VirtualMachinesClientAttachDetachDataDisksResponse], azfake.ErrorResponder) {
		return order[arm.VirtualMachinesClientAttachDetachDataDisksResponse](s, at(group, name)+"/attachDetachDataDisks", url.Values{}, wanted)
	}
	return server
}

func instancesOver(s sandbox) (server fake.VirtualMachineScaleSetVMsServer) {
	at := func(group, set, id string) string {
		return compute(group) + "/virtualMachineScaleSets/" + set + "/virtualMachines/" + id
	}
	server.Get = func(_ context.Context, group, set, id string, options *arm.VirtualMachineScaleSetVMsClientGetOptions) (azfake.Responder[arm.VirtualMachineScaleSetVMsClientGetResponse], azfake.ErrorResponder) {
		instance, err := read[arm.VirtualMachineScaleSetVM](s, at(group, set, id), expanding(given(options).Expand))
		return one(arm.VirtualMachineScaleSetVMsClientGetResponse{VirtualMachineScaleSetVM: instance}, err)
	}
	server.BeginPowerOff = func(_ context.Context, group, set, id string, options *arm.VirtualMachineScaleSetVMsClientBeginPowerOffOptions) (azfake.PollerResponder[arm.VirtualMachineScaleSetVMsClientPowerOffResponse], azfake.ErrorResponder) {
		return order[arm.VirtualMachineScaleSetVMsClientPowerOffResponse](s, at(group, set, id)+"/powerOff", skipping(given(options).SkipShutdown), nil)
	}
	server.BeginAttachDetachDataDisks = func(_ context.Context, group, set, id string, wanted arm.AttachDetachDataDisksRequest, _ *arm.VirtualMachineScaleSetVMsClientBeginAttachDetachDataDisksOptions) (azfake.PollerResponder[arm.VirtualMachineScaleSetVMsClientAttachDetachDataDisksResponse], azfake.ErrorResponder) {
		return order[arm.VirtualMachineScaleSetVMsClientAttachDetachDataDisksResponse](s, at(group, set, id)+"/attachDetachDataDisks", url.Values{}, wanted)
	}
	server.NewListPager = func(group, set string, _ *arm.VirtualMachineScaleSetVMsClientListOptions) (pager azfake.PagerResponder[arm.VirtualMachineScaleSetVMsClientListResponse]) {
		list, err := read[arm.VirtualMachineScaleSetVMListResult](s, compute(group)+"/virtualMachineScaleSets/"+set+"/virtualMachines", url.Values{})
		var said declined
		if errors.As(err, &said) {
			pager.AddResponseError(said.status, said.code)
			return pager
		}
		if err != nil {
			pager.AddError(err)
			return pager
		}
		list.NextLink = to.Ptr("")
		pager.AddPage(http.StatusOK, arm.VirtualMachineScaleSetVMsClientListResponse{VirtualMachineScaleSetVMListResult: list}, nil)
		return pager
	}
	return server
}
