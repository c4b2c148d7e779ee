import { z } from 'zod';
import { INSTANCE_ID } from '../ids.ts';
import { nothing, type Understood } from './understood.ts';

/** News of AWS Health: https://docs.aws.amazon.com/health/latest/ug/aws-health-events-eventbridge-schema.html */

const ARN = /^arn:[^:]+:ec2:[^:]*:[^:]*:instance\/(.+)$/;

const listOf = <T extends z.ZodType>(one: T) => z.array(one).nullish().transform((list) => list ?? []);

/**
 * `{"resources":["i-12345678"],"detail":{"service":"EC2","affectedEntities":[{"entityValue":"i-12345678"}]}}`. The envelope says
 * where the event was delivered, such as to an organization's first account or a backup region; the detail, where it happened.
 */
export const health = z
  .object({
    resources: listOf(z.string()),
    detail: z.object({
      service: z.string(),
      affectedEntities: listOf(z.object({ entityValue: z.string().nullish() })),
      affectedAccount: z.string().nullish(),
      eventRegion: z.string().nullish(),
    }),
  })
  .transform(({ resources, detail }): Understood => {
    const named = [...detail.affectedEntities.map((entity) => entity.entityValue ?? ''), ...resources];
    const machines = [...new Set(named.map((name) => ARN.exec(name)?.[1] ?? name))].filter((name) => INSTANCE_ID.test(name));
    if (machines.length === 0) return nothing(`an AWS Health event about ${detail.service} that names no instance`);
    return { machines, because: 'health', at: { account: detail.affectedAccount || null, region: detail.eventRegion || null } };
  });
