import type { Instance } from '@aws-sdk/client-ec2';
import { describe, expect, it } from 'vitest';
import { classifyPower } from '../../../providers/aws/power.ts';

type Said = Pick<Instance, 'State' | 'StateReason' | 'HibernationOptions'>;

const said = (Name: NonNullable<Instance['State']>['Name'], Code?: string, Configured?: boolean): Said => ({
  State: { Name },
  ...(Code === undefined ? {} : { StateReason: { Code } }),
  ...(Configured === undefined ? {} : { HibernationOptions: { Configured } }),
});

describe('what an answer of EC2 proves', () => {
  it.each([
    ['pending', 'starting'],
    ['running', 'running'],
    ['stopping', 'stopping'],
    ['shutting-down', 'stopping'],
  ] as const)('%s is %s, which is no proof', (name, power) => {
    expect(classifyPower(said(name, 'Client.UserInitiatedShutdown', false))).toEqual({ power, forGood: false });
  });

  it('terminated is off and gone for good, whether the machine could hibernate or not', () => {
    expect(classifyPower(said('terminated', 'Client.UserInitiatedHibernate', true))).toEqual({
      power: 'off',
      forGood: true,
    });
  });

  it.each(['Client.UserInitiatedShutdown', 'Client.InstanceInitiatedShutdown', 'Something.New', undefined])(
    'stopped is off if the machine cannot hibernate, whatever the reason (%s)',
    (code) => {
      expect(classifyPower(said('stopped', code, false))).toEqual({ power: 'off', forGood: false });
    },
  );

  it.each(['Client.UserInitiatedShutdown', 'Server.ScheduledStop'])(
    'stopped is off if the machine could have hibernated and the reason says plain shutdown (%s)',
    (code) => {
      expect(classifyPower(said('stopped', code, true))).toEqual({ power: 'off', forGood: false });
      expect(classifyPower(said('stopped', code)).power).toBe('off');
    },
  );

  it.each([
    'Client.UserInitiatedHibernate',
    'Client.InstanceInitiatedShutdown',
    'Server.SpotInstanceShutdown',
    'Server.InternalError',
    'Server.InsufficientInstanceCapacity',
    'Client.InternalError',
    'Something.New',
    undefined,
  ])('stopped is suspended if the machine could have hibernated and the reason does not say otherwise (%s)', (code) => {
    expect(classifyPower(said('stopped', code, true)).power).toBe('suspended');
    expect(classifyPower(said('stopped', code)).power).toBe('suspended');
  });

  it.each(['Server.SpotInstanceShutdown', 'Server.InternalError', 'Something.New', undefined])(
    'stopped is suspended if EC2 may have hibernated a Spot instance, even if it cannot hibernate otherwise (%s)',
    (code) => {
      const spot = { ...said('stopped', code, false), InstanceLifecycle: 'spot' } as const;
      expect(classifyPower(spot)).toEqual({ power: 'suspended', forGood: false });
    },
  );

  it.each(['Client.UserInitiatedShutdown', 'Server.ScheduledStop'])(
    'a Spot instance that a person has stopped is off (%s)',
    (code) => {
      const spot = { ...said('stopped', code, false), InstanceLifecycle: 'spot' } as const;
      expect(classifyPower(spot)).toEqual({ power: 'off', forGood: false });
      expect(classifyPower({ ...spot, State: { Name: 'terminated' } })).toEqual({ power: 'off', forGood: true });
    },
  );

  it('stopped is suspended if the reason says so, even if the machine cannot hibernate', () => {
    expect(classifyPower(said('stopped', 'Client.UserInitiatedHibernate', false)).power).toBe('suspended');
  });

  it('a missing state is unknown', () => {
    expect(classifyPower({}).power).toBe('unknown');
    expect(classifyPower({ State: {} }).power).toBe('unknown');
  });
});
