package main

import (
	"context"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

type controller struct {
	csi.UnimplementedControllerServer
	ec2   *ec2
	knobs *knobs
	pace  time.Duration
}

// The published nodes are not listed, as by the real driver: so the attacher never re-attaches on its own.
func (c *controller) ControllerGetCapabilities(context.Context, *csi.ControllerGetCapabilitiesRequest) (*csi.ControllerGetCapabilitiesResponse, error) {
	rpc := &csi.ControllerServiceCapability_RPC{Type: csi.ControllerServiceCapability_RPC_PUBLISH_UNPUBLISH_VOLUME}
	capability := &csi.ControllerServiceCapability{Type: &csi.ControllerServiceCapability_Rpc{Rpc: rpc}}
	return &csi.ControllerGetCapabilitiesResponse{Capabilities: []*csi.ControllerServiceCapability{capability}}, nil
}

func (c *controller) ControllerPublishVolume(ctx context.Context, request *csi.ControllerPublishVolumeRequest) (*csi.ControllerPublishVolumeResponse, error) {
	volume, instance := request.GetVolumeId(), request.GetNodeId()
	if volume == "" || instance == "" || request.GetVolumeCapability() == nil {
		return nil, status.Error(codes.InvalidArgument, "volume, node and capability have to be given")
	}
	if err := c.before(ctx, volume, failAttach); err != nil {
		return nil, err
	}
	device, already, err := c.ec2.attach(ctx, volume, instance)
	if err != nil {
		return nil, answered(err)
	}
	if err := c.until(ctx, volume, instance, "attached", already); err != nil {
		return nil, err
	}
	return &csi.ControllerPublishVolumeResponse{PublishContext: map[string]string{"devicePath": device}}, nil
}

func (c *controller) ControllerUnpublishVolume(ctx context.Context, request *csi.ControllerUnpublishVolumeRequest) (*csi.ControllerUnpublishVolumeResponse, error) {
	volume, instance := request.GetVolumeId(), request.GetNodeId()
	if volume == "" || instance == "" {
		return nil, status.Error(codes.InvalidArgument, "volume and node have to be given")
	}
	if err := c.before(ctx, volume, failDetach); err != nil {
		return nil, err
	}
	if c.knobs.of(volume).LoseDetach {
		return &csi.ControllerUnpublishVolumeResponse{}, nil
	}
	err := c.ec2.detach(ctx, volume, instance)
	if isRefusal(err, "IncorrectState", "InvalidAttachment.NotFound", "InvalidVolume.NotFound") {
		return &csi.ControllerUnpublishVolumeResponse{}, nil
	}
	if err != nil {
		return nil, answered(err)
	}
	if err := c.until(ctx, volume, instance, detached, false); err != nil {
		return nil, err
	}
	return &csi.ControllerUnpublishVolumeResponse{}, nil
}

// What happens before a call leaves: the driver batches, and a test may have asked for delay or failure.
func (c *controller) before(ctx context.Context, volume string, failure func(knob) string) error {
	if err := sleep(ctx, c.pace); err != nil {
		return err
	}
	return c.knobs.hold(ctx, volume, failure)
}

// EC2 shows no attachment at all once a volume is detached.
const detached = ""

// Looks until the attachment is as wanted. Like the real driver it gives up at once when it has not attached the volume
// itself and finds it in another state; else it continues until the attacher's time-out.
func (c *controller) until(ctx context.Context, volume, instance, wanted string, already bool) error {
	for {
		if err := sleep(ctx, c.pace); err != nil {
			return err
		}
		state, err := c.ec2.attachmentState(ctx, volume, instance)
		if err != nil && !isRefusal(err, "InvalidVolume.NotFound") {
			return answered(err)
		}
		if state == wanted {
			return nil
		}
		if already {
			return status.Errorf(codes.Internal, "%s was attached to %s and is %q now", volume, instance, state)
		}
	}
}

func sleep(ctx context.Context, duration time.Duration) error {
	select {
	case <-time.After(duration):
		return nil
	case <-ctx.Done():
		return status.FromContextError(ctx.Err()).Err()
	}
}

func answered(err error) error {
	if isRefusal(err, "InvalidVolume.NotFound", "InvalidInstanceID.NotFound") {
		return status.Error(codes.NotFound, err.Error())
	}
	return status.Error(codes.Internal, err.Error())
}
