import { z } from 'zod';
import { instanceId } from './instance-id.ts';
import type { Understood } from './understood.ts';
import { nothing } from './understood.ts';

/** Calls and service events that CloudTrail noted: https://docs.aws.amazon.com/awscloudtrail/latest/userguide/cloudtrail-event-reference-record-contents.html */

/** Where a call names the instances that it is about: in what was asked, or, for a launch, in what was answered. */
const namedIn: Readonly<Record<string, 'requestParameters' | 'responseElements'>> = {
  StopInstances: 'requestParameters',
  StartInstances: 'requestParameters',
  TerminateInstances: 'requestParameters',
  RebootInstances: 'requestParameters',
  RunInstances: 'responseElements',
};

const instancesSet = z.object({ instancesSet: z.object({ items: z.array(z.object({ instanceId })).min(1) }) });

const kebab = (name: string): string => name.replace(/\B[A-Z]/g, (letter) => `-${letter}`).toLowerCase();

/**
 * `{"detail":{"eventName":"StopInstances","requestParameters":{"instancesSet":{"items":[{"instanceId":"i-…"}]}}}}`; a call
 * that was refused may carry null in the place of what it asked for, and of what it was answered, or ids that are none.
 */
export const apiCall = z
  .object({ detail: z.object({ eventName: z.string(), errorCode: z.string().nullish(), requestParameters: z.unknown().optional(), responseElements: z.unknown().optional() }) })
  .transform(({ detail }, context): Understood => {
    const { eventName, errorCode } = detail;
    const place = Object.hasOwn(namedIn, eventName) ? namedIn[eventName] : undefined;
    if (place === undefined) return nothing(`a call of ${eventName}`);
    const said = detail[place] ?? null;
    if (said === null) return nothing(`a call of ${eventName} that names no instance`);
    const set = instancesSet.safeParse(said);
    if (set.success) return { machines: set.data.instancesSet.items.map((item) => item.instanceId), because: `api-call-${kebab(eventName)}` };
    if (errorCode) return nothing(`a call of ${eventName} that was refused (${errorCode})`);
    context.addIssue({ code: 'custom', path: ['detail', place], message: `${eventName} is expected to name its instances in instancesSet.items` });
    return z.NEVER;
  });

/** `{"detail":{"eventName":"BidEvictedEvent","serviceEventDetails":{"instanceIdSet":["i-…"]}}}` */
export const serviceEvent = z
  .object({ detail: z.object({ eventName: z.string(), serviceEventDetails: z.object({ instanceIdSet: z.array(instanceId).default([]) }).nullish() }) })
  .transform(({ detail: { eventName, serviceEventDetails } }): Understood => {
    const machines = serviceEventDetails?.instanceIdSet ?? [];
    return machines.length > 0 ? { machines, because: `service-event-${kebab(eventName)}` } : nothing(`a service event, ${eventName}, that names no instance`);
  });
