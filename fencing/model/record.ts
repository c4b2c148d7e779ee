import { z } from 'zod';
import { jsonText } from './json-text.ts';

/** How the fence's out-of-service taint came to be: only our own is ever taken back. */
export type OutOfServiceTaint = 'ours' | 'foreign' | 'unsupported';

const namedPod = z.object({ namespace: z.string(), name: z.string(), uid: z.string() }).readonly();
const namedVolume = z
  .object({
    driver: z.string(),
    handle: z.string(),
    persistentVolume: z.string().nullable(),
    attachment: z.string(),
    /** Kubernetes saw it attached to this very machine when the fence began. */
    attached: z.boolean().optional(),
  })
  .readonly();

/**
 * The fence, written on the Node that it fences: who, why, on what evidence, and what stood there when it began.
 * It is memory for people and for `release`; it never widens what is acted on, every target is derived anew.
 */
export const fenceRecord = z
  .object({
    version: z.literal(1),
    fence: z.string().min(1),
    /**
     * - `fencing`: the out-of-service taint stands and works; `marked` was written by versions that could take a mark
     * back
     * - `fenced`: everything is free, only the quarantine stands
     * - `lifted`: the cloud no longer said that the machine is off, so the out-of-service taint was taken off
     * - `releasing`: a person takes the fence back
     */
    phase: z
      .enum(['marked', 'fencing', 'fenced', 'lifted', 'releasing'])
      .transform((phase) => (phase === 'marked' ? 'fencing' : phase)),
    cloud: z.string(),
    machine: z.string().min(1),
    generation: z.string().nullable(),
    node: z.string(),
    nodeUid: z.string(),
    bootID: z.string(),
    /** renewTime of the kubelet's Lease, read after the machine was first seen off; null when there is no Lease. */
    lease: z.string().nullable(),
    outOfService: z.enum(['ours', 'foreign', 'unsupported']),
    begun: z.iso.datetime(),
    /** When we took our out-of-service taint off, while the quarantine still stands; null while it has work to do. */
    released: z.iso.datetime().nullable(),
    /** A Lease that was renewed although the machine is off, and when we first saw it. */
    renewed: z.object({ lease: z.string(), seen: z.iso.datetime() }).readonly().nullable().default(null),
    /** The reason that a person gave, when a person and not the cloud vouched that the machine is off. */
    vouched: z.string().nullable().default(null),
    evidence: z.record(z.string(), z.string()).readonly(),
    volumes: z.array(namedVolume).readonly(),
    pods: z.array(namedPod).readonly(),
    /**
     * What makes pods without a volume anew here as often as they are deleted (`originOf`): no taint helps with them.
     */
    recurring: z.array(z.string()).readonly().default([]),
  })
  .readonly();

export type FenceRecord = z.infer<typeof fenceRecord>;
export type NamedPod = z.infer<typeof namedPod>;
export type NamedVolume = z.infer<typeof namedVolume>;

/** The record in an annotation's text, or null when the text is no record of ours. */
export const parseRecord = (text: string): FenceRecord | null => {
  const read = jsonText.pipe(fenceRecord).safeParse(text);
  return read.success ? read.data : null;
};
