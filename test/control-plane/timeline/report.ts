import type { Calls, FirstCalls } from './calls.ts';
import type { Machine } from './machine.ts';
import type { Played } from './play.ts';

/** All measurements of one run of the timeline. */
export interface Report {
  readonly machine: Machine;
  /** The command line that produced it. */
  readonly command: string;
  /** Such as `2026-01-31`. */
  readonly date: string;
  /** How long (s) the slow remedies were watched. */
  readonly patience: number;
  /** In the order of the table. */
  readonly rows: readonly Row[];
  readonly sizes: readonly Sized[];
}

export interface Row {
  readonly way: RemedyName;
  readonly played: readonly Played[];
}

/** The same fence in a cluster with this many Nodes. */
export interface Sized {
  readonly nodes: number;
  readonly floor: readonly Played[];
  readonly timed: readonly Played[];
  readonly counted: readonly Counted[];
}

/** One run behind gates that count. */
export interface Counted {
  readonly calls: Calls;
  readonly first: FirstCalls;
}

export const ways = {
  nothing: 'nothing',
  noSchedule: 'taint only, NoSchedule',
  noExecute: 'taint only, NoExecute',
  node: 'Node deleted',
  all: 'Node deleted, then pods and VolumeAttachment',
  floor: 'the floor: taint NoSchedule and force delete, no proof',
  warm: 'Cloudfence: AWS handler, warm',
  cold: 'Cloudfence: AWS handler, cold',
  cli: 'Cloudfence: CLI',
} as const;

export type RemedyName = keyof typeof ways;

export const rowOf = ({ rows }: Report, way: RemedyName): readonly Played[] =>
  rows.find((row) => row.way === way)?.played ?? [];
