import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { stackConditions, stackParameters, releasedValues } from '../../../infra/serverless/released-stack.ts';
import { optionalRules } from '../../../infra/serverless/template-values.ts';
import { resourcesIn } from './source-files.ts';

/** The queues accept only events of the listed rules. An event of any other rule would be lost without a trace. */

const resources = z
  .record(
    z.string(),
    z.object({
      Type: z.string(),
      Metadata: z.object({ When: z.string() }).optional(),
      Properties: z.object({
        Name: z.string().optional(),
        EventPattern: z.unknown().optional(),
        Targets: z.array(z.object({ RetryPolicy: z.unknown() })).optional(),
      }),
    }),
  )
  .parse(resourcesIn('events.yml'));
const defaults = z
  .record(z.string(), z.unknown())
  .parse(parse(readFileSync(new URL('../../../infra/aws/parameters.yml', import.meta.url), 'utf8')));
const rules = Object.values(resources).filter(({ Type }) => Type === 'AWS::Events::Rule');
const PREFIX = '${self:service}-${sls:stage}-';

describe('a rule of events.yml', () => {
  it('has events that the queues accept, with its own parameter', () => {
    expect(rules.map(({ Metadata, Properties: { Name } }) => [Metadata?.When, Name])).toEqual([
      [undefined, `${PREFIX}state-change`],
      [undefined, `${PREFIX}test-event`],
      ...optionalRules.map(({ parameter, rule }) => [`\${cloudfence:${parameter}}`, `${PREFIX}${rule}`]),
    ]);
  });

  it('of state changes passes every state, because a machine that starts is as urgent as one that stops', () => {
    expect(resources['StateChangeRule']?.Properties.EventPattern).toEqual({
      source: '${cloudfence:stateChangeSources}',
      'detail-type': ['EC2 Instance State-change Notification'],
    });
  });

  it('tries again for an hour if the queue does not accept an event', () => {
    for (const { Properties } of rules)
      expect(Properties.Targets).toEqual([
        { RetryPolicy: { MaximumEventAgeInSeconds: 3600, MaximumRetryAttempts: 60 } },
      ]);
  });

  it('of the doctor has events that the queues of a release also accept', () => {
    expect(JSON.stringify(releasedValues.rules)).toContain(`rule/cloudfence-\${Stage}-test-event`);
  });

  it.each(optionalRules)('$parameter has the same default in a stage and in a release', ({ parameter, usual }) => {
    expect(String(defaults[parameter])).toBe(usual);
  });

  it.each(optionalRules)('$parameter is a parameter of a released template and its condition', ({ parameter }) => {
    const name = `${parameter.slice(0, 1).toUpperCase()}${parameter.slice(1)}`;
    expect(Object.keys(stackParameters('0.0.0'))).toContain(name);
    expect(stackConditions).toHaveProperty(`With${name}`, { 'Fn::Equals': [{ Ref: name }, 'true'] });
    expect(releasedValues).toHaveProperty(parameter, `With${name}`);
  });
});
