/** What an observer saw, and when (mono ms). */
export type PhaseEvent =
  | {
      readonly of: 'pod';
      readonly at: number;
      readonly uid: string;
      readonly node: string;
      readonly gone: boolean;
      readonly running: boolean;
    }
  | {
      readonly of: 'attachment';
      readonly at: number;
      readonly node: string;
      readonly deleting: boolean;
      readonly gone: boolean;
      readonly attached: boolean;
    }
  | { readonly of: 'disk'; readonly at: number; readonly holder: string | null };

/** The objects of one crash. */
export interface CrashObjects {
  /** Uid of the pod that ran when the machine crashed. */
  readonly former: string;
  /** Names of the nodes: the dead one, and the one to move to. */
  readonly home: string;
  readonly refuge: string;
  /** Instance of the dead node. */
  readonly machine: string;
}

/** The steps of a recovery in their order, with their names in the table. */
export const phaseNames = {
  podGone: 'old pod gone',
  deleting: 'old VolumeAttachment deleting',
  gone: 'old VolumeAttachment gone',
  detached: 'cloud detached',
  attached: 'new one attached',
  running: 'new pod Running',
} as const;

export type Phase = keyof typeof phaseNames;

/** Moments of one recovery (mono ms). Null for what was not seen. */
export type Moments = Readonly<Record<Phase, number | null>>;

export const phases: readonly Phase[] = ['podGone', 'deleting', 'gone', 'detached', 'attached', 'running'];

const isPhase = (phase: Phase, { former, home, refuge, machine }: CrashObjects, seen: PhaseEvent): boolean => {
  switch (seen.of) {
    case 'pod':
      if (phase === 'podGone') return seen.uid === former && seen.gone;
      return phase === 'running' && seen.uid !== former && seen.node === refuge && seen.running;
    case 'attachment':
      if (phase === 'deleting') return seen.node === home && seen.deleting;
      if (phase === 'gone') return seen.node === home && seen.gone;
      return phase === 'attached' && seen.node === refuge && seen.attached;
    case 'disk':
      return phase === 'detached' && seen.holder !== machine;
  }
};

const firstOf = (phase: Phase, crashObjects: CrashObjects, seen: readonly PhaseEvent[]): number | null =>
  seen.find((one) => isPhase(phase, crashObjects, one))?.at ?? null;

export const momentsIn = (seen: readonly PhaseEvent[], crashObjects: CrashObjects): Moments =>
  mapPhases((phase) => firstOf(phase, crashObjects, seen));

export const mapPhases = <T>(make: (phase: Phase) => T): Readonly<Record<Phase, T>> => ({
  podGone: make('podGone'),
  deleting: make('deleting'),
  gone: make('gone'),
  detached: make('detached'),
  attached: make('attached'),
  running: make('running'),
});

export const isOver = (moments: Moments): boolean => phases.every((phase) => moments[phase] !== null);

/** The same in seconds after `zero`. */
export const after = (zero: number, moments: Moments): Moments =>
  mapPhases((phase) => {
    const at = moments[phase];
    return at === null ? null : (at - zero) / 1000;
  });
