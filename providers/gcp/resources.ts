import type { google } from '@google-cloud/compute/build/protos/protos.js';

/** The SDK's own types, by shorter names. */
export type Instance = google.cloud.compute.v1.IInstance;
export type AttachedDisk = google.cloud.compute.v1.IAttachedDisk;
export type Disk = google.cloud.compute.v1.IDisk;
