import { describe, expect, it } from 'vitest';
import { toleratesOutOfService } from '../../kubernetes/pods.ts';

const KEY = 'node.kubernetes.io/out-of-service';

describe('a pod', () => {
  it.each([
    ['names the taint', { key: KEY, operator: 'Exists' }, true],
    ['names the taint and a value', { key: KEY, operator: 'Equal', value: 'nodeshutdown', effect: 'NoSchedule' }, true],
    ['names the taint for another effect', { key: KEY, operator: 'Exists', effect: 'NoExecute' }, true],
    ['tolerates everything', { operator: 'Exists' }, true],
    ['tolerates every taint of one effect', { operator: 'Exists', effect: 'NoExecute' }, false],
    [
      'tolerates an unreachable node',
      { key: 'node.kubernetes.io/unreachable', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300 },
      false,
    ],
    ['tolerates another taint with any effect', { key: 'node.kubernetes.io/unreachable', operator: 'Exists' }, false],
    ['has an empty toleration', {}, false],
  ])('that %s is left alone: %j → %s', (_case, toleration, tolerates) => {
    expect(toleratesOutOfService({ spec: { containers: [], tolerations: [toleration] } })).toBe(tolerates);
  });

  it('without tolerations is not left alone', () => {
    expect(toleratesOutOfService({ spec: { containers: [] } })).toBe(false);
  });
});
