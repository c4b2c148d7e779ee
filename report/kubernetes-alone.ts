/**
 * What Kubernetes does without Cloudfence after a machine has crashed. A test compares each figure with
 * docs/recovery.md, which a measurement writes.
 */

/** In seconds after the start of the remedy. Null: not seen while it was watched. */
export interface Remedy {
  /** The name of its row in the table. */
  readonly row: string;
  /** What a person does. */
  readonly label: string;
  readonly oldPodGone: number | null;
  readonly cloudDetached: number | null;
  readonly attachedElsewhere: number | null;
  readonly running: number | null;
}

export interface MeasuredRemedies {
  readonly source: string;
  readonly measured: string;
  readonly kubernetes: string;
  /** How long the slow remedies were watched, in seconds. */
  readonly watched: number;
  readonly remedies: readonly Remedy[];
  /** The same crash with Cloudfence, from the event until the new pod ran, in seconds. */
  readonly cloudfence: { readonly row: string; readonly running: number };
}

export const kubernetesAlone: MeasuredRemedies = {
  source: 'docs/recovery.md',
  measured: '2026-11-21',
  kubernetes: 'v1.36.3',
  watched: 620,
  cloudfence: { row: 'Cloudfence: AWS handler, warm', running: 2.53 },
  remedies: [
    {
      row: 'nothing',
      label: 'Kubernetes alone',
      oldPodGone: null,
      cloudDetached: null,
      attachedElsewhere: null,
      running: null,
    },
    {
      row: 'taint only, NoSchedule',
      label: 'Taint NoSchedule',
      oldPodGone: 353.7,
      cloudDetached: 354.4,
      attachedElsewhere: 356.0,
      running: 356.0,
    },
    {
      row: 'taint only, NoExecute',
      label: 'Taint NoExecute',
      oldPodGone: 53.78,
      cloudDetached: 54.83,
      attachedElsewhere: 55.98,
      running: 56.06,
    },
    {
      row: 'Node deleted',
      label: 'Node deleted',
      oldPodGone: 53.83,
      cloudDetached: 414.9,
      attachedElsewhere: 416.2,
      running: 416.2,
    },
    {
      row: 'Node deleted, then pods and VolumeAttachment',
      label: 'Node and pods deleted',
      oldPodGone: 0.1,
      cloudDetached: 1.0,
      attachedElsewhere: 14.06,
      running: 14.73,
    },
  ],
};
