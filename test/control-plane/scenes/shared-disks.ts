export interface SharedAttachment {
  readonly volumeId: string;
  readonly instanceId: string;
  readonly device: string;
  readonly status: 'attached';
}

/** The instances that use each shared volume. Gives the error code of EC2 for what EC2 would reject. */
export interface SharedDisks {
  readonly add: (volume: string) => void;
  readonly has: (volume: string) => boolean;
  readonly attach: (volume: string, instance: string, device: string) => string | null;
  readonly detach: (volume: string, instance: string) => string | null;
  /** Null for a volume that is not shared. */
  readonly attachmentsOf: (volume: string) => readonly SharedAttachment[] | null;
  readonly heldBy: (instances: readonly string[]) => readonly string[];
}

export const sharedDisks = (): SharedDisks => {
  const held = new Map<string, readonly SharedAttachment[]>();
  const of = (volume: string) => held.get(volume) ?? [];
  return {
    add: (volume) => void held.set(volume, []),
    has: (volume) => held.has(volume),
    attach: (volumeId, instanceId, device) => {
      if (of(volumeId).some((other) => other.instanceId === instanceId)) return 'VolumeInUse';
      held.set(volumeId, [...of(volumeId), { volumeId, instanceId, device, status: 'attached' }]);
      return null;
    },
    detach: (volume, instance) => {
      if (of(volume).length === 0) return 'IncorrectState';
      if (!of(volume).some((other) => other.instanceId === instance)) return 'InvalidAttachment.NotFound';
      held.set(
        volume,
        of(volume).filter((other) => other.instanceId !== instance),
      );
      return null;
    },
    attachmentsOf: (volume) => held.get(volume) ?? null,
    heldBy: (instances) =>
      [...held]
        .filter(([, all]) => all.some(({ instanceId }) => instances.includes(instanceId)))
        .map(([volume]) => volume),
  };
};
