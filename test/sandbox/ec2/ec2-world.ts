import { EC2Client } from '@aws-sdk/client-ec2';
import type { Ec2Clients } from '../../../providers/aws/client.ts';
import { awsCloud } from '../../../providers/aws/index.ts';
import { ec2Clients } from '../../../providers/aws/client.ts';
import { ec2Actors } from '../../../sandbox/ec2/actors.ts';
import { inProcessHandler } from '../../../sandbox/ec2/in-process-handler.ts';
import type { Ec2World, SimulationSettings, WithEc2 } from '../../../sandbox/ec2/state.ts';
import { emptyEc2 } from '../../../sandbox/ec2/state.ts';
import { createWorld } from '../../../sandbox/world.ts';

export const region = 'eu-central-1';
export const credentials = { accessKeyId: 'test', secretAccessKey: 'test' };
export const MINUTE = 60_000;

/** A separate simulated EC2, on a day in November. */
export const ec2World = (knobs: Partial<SimulationSettings> = {}): Ec2World =>
  createWorld<WithEc2>(
    ec2Actors(),
    { ec2: emptyEc2({ account: '123456789012', region }, knobs) },
    { now: Date.UTC(2026, 10, 21), seed: 1 },
  );

/** The SDK for that EC2, without a network. */
export const clientOf = (world: Ec2World): EC2Client =>
  new EC2Client({ region, credentials, requestHandler: inProcessHandler(world), maxAttempts: 1 });

export const clientsOf = (world: Ec2World): Ec2Clients =>
  ec2Clients({ region, credentials, requestHandler: inProcessHandler(world) });

export const cloudOf = (world: Ec2World, clients = clientsOf(world)) => awsCloud({ clients, region });

export const patient = (): AbortSignal => new AbortController().signal;
