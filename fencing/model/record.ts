import { z } from 'zod';
import { nonEmptyText } from './foreign-text.ts';
import { jsonTextSchema } from './json-text.ts';

/** Where the out-of-service taint of a fence came from. Cloudfence only removes its own taint. */
export type OutOfServiceTaint = 'ours' | 'foreign' | 'unsupported';

const namedPod = z.object({ namespace: z.string(), name: z.string(), uid: z.string() }).readonly();
const namedVolume = z
  .object({
    driver: z.string(),
    handle: z.string(),
    persistentVolume: z.string().nullable(),
    attachment: z.string(),
    /** Kubernetes reported the volume as attached to exactly this machine when the fence began. */
    attached: z.boolean().optional(),
  })
  .readonly();

/**
 * The record of a fence on its Node: who began it, why, with what evidence, and which volumes and pods were there. It
 * is memory for people and for `release`. It never adds anything on which Cloudfence acts: every target is derived from
 * fresh reads.
 */
export const fenceRecord = z
  .object({
    version: z.literal(1),
    fence: nonEmptyText,
    /**
     * The phase of the fence:
     * - `fencing`: the out-of-service taint is set and still needed
     * - `fenced`: everything is free, and only the quarantine is left
     * - `lifted`: the cloud no longer said that the machine is off, so Cloudfence removed the out-of-service taint
     * - `releasing`: a person releases the fence
     */
    phase: z.enum(['fencing', 'fenced', 'lifted', 'releasing']),
    cloud: z.string(),
    machine: nonEmptyText,
    generation: z.string().nullable(),
    /** Operations on the machine also change this generation, so it does not distinguish boots. */
    generationDrifts: z.boolean().optional(),
    node: z.string(),
    nodeUid: z.string(),
    bootID: z.string(),
    /** The renewTime of the kubelet's Lease, read after the machine was first seen off. Null if there is no Lease. */
    lease: z.string().nullable(),
    outOfService: z.enum(['ours', 'foreign', 'unsupported']),
    begun: z.iso.datetime(),
    /** When Cloudfence removed its out-of-service taint and left the quarantine. Null while the taint is set. */
    released: z.iso.datetime().nullable(),
    /** A renewal of the Lease while the machine is off, and when Cloudfence first saw it. */
    renewed: z.object({ lease: z.string(), seen: z.iso.datetime() }).readonly().nullable().default(null),
    /** The reason that a person gave, if a person instead of the cloud stated that the machine is off. */
    vouched: z.string().nullable().default(null),
    evidence: z.record(z.string(), z.string()).readonly(),
    volumes: z.array(namedVolume).readonly(),
    pods: z.array(namedPod).readonly(),
    /**
     * The origins (`originOf`) of pods without a volume that are recreated here each time they are deleted. A taint
     * cannot prevent such pods.
     */
    recurring: z.array(z.string()).readonly().default([]),
  })
  .readonly();

export type FenceRecord = z.infer<typeof fenceRecord>;
export type NamedPod = z.infer<typeof namedPod>;
export type NamedVolume = z.infer<typeof namedVolume>;

/** Returns the text of the annotation that holds the record. */
export const serializeRecord = (record: FenceRecord): string => JSON.stringify(record);

/** Parses the text of an annotation as a record, or returns null if it is not a valid record. */
export const parseRecord = (text: string): FenceRecord | null => {
  const read = jsonTextSchema.pipe(fenceRecord).safeParse(text);
  return read.success ? read.data : null;
};
