package main

import (
	"context"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// Hands on what the attacher asks for to a driver that runs as a separate process. The knobs are turned here.
type relay struct {
	csi.UnimplementedControllerServer
	controller csi.ControllerClient
	knobs      *knobs
}

type relayedIdentity struct {
	csi.UnimplementedIdentityServer
	identity csi.IdentityClient
}

func registerRelay(server *grpc.Server, socket string, knobs *knobs) error {
	driver, err := grpc.NewClient("unix:"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	csi.RegisterIdentityServer(server, &relayedIdentity{identity: csi.NewIdentityClient(driver)})
	csi.RegisterControllerServer(server, &relay{controller: csi.NewControllerClient(driver), knobs: knobs})
	return nil
}

func (r *relay) ControllerGetCapabilities(ctx context.Context, request *csi.ControllerGetCapabilitiesRequest) (*csi.ControllerGetCapabilitiesResponse, error) {
	return r.controller.ControllerGetCapabilities(ctx, request)
}

func (r *relay) ControllerPublishVolume(ctx context.Context, request *csi.ControllerPublishVolumeRequest) (*csi.ControllerPublishVolumeResponse, error) {
	if err := r.knobs.hold(ctx, request.GetVolumeId(), failAttach); err != nil {
		return nil, err
	}
	return r.controller.ControllerPublishVolume(ctx, request)
}

func (r *relay) ControllerUnpublishVolume(ctx context.Context, request *csi.ControllerUnpublishVolumeRequest) (*csi.ControllerUnpublishVolumeResponse, error) {
	if err := r.knobs.hold(ctx, request.GetVolumeId(), failDetach); err != nil {
		return nil, err
	}
	if r.knobs.of(request.GetVolumeId()).LoseDetach {
		return &csi.ControllerUnpublishVolumeResponse{}, nil
	}
	return r.controller.ControllerUnpublishVolume(ctx, request)
}

func (r *relayedIdentity) GetPluginInfo(ctx context.Context, request *csi.GetPluginInfoRequest) (*csi.GetPluginInfoResponse, error) {
	return r.identity.GetPluginInfo(ctx, request)
}

func (r *relayedIdentity) GetPluginCapabilities(ctx context.Context, request *csi.GetPluginCapabilitiesRequest) (*csi.GetPluginCapabilitiesResponse, error) {
	return r.identity.GetPluginCapabilities(ctx, request)
}

func (r *relayedIdentity) Probe(ctx context.Context, request *csi.ProbeRequest) (*csi.ProbeResponse, error) {
	return r.identity.Probe(ctx, request)
}
