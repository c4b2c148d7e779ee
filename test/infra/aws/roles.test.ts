import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { resourcesIn } from './source-files.ts';

/** The conditions and resources of the permissions that are wide without them. */

const oneOrMore = z.union([z.string(), z.array(z.string())]).transform((value) => [value].flat());
const statement = z.object({
  Effect: z.string(),
  Action: oneOrMore,
  Resource: oneOrMore,
  Condition: z.unknown().optional(),
});
const role = z.object({
  Policies: z.tuple([z.object({ PolicyDocument: z.object({ Statement: z.array(statement) }) })]),
});

const roles = Object.entries(resourcesIn('roles.yml')).map(([name, { Properties }]) => ({
  name,
  statements: role.parse(Properties).Policies[0].PolicyDocument.Statement,
}));
const allowing = (action: string) =>
  roles.flatMap(({ name, statements }) =>
    statements
      .filter(({ Effect, Action }) => Effect === 'Allow' && Action.includes(action))
      .map((one) => ({ name, ...one })),
  );

describe('a role', () => {
  it('may delete notes, and never an incident', () => {
    const deleting = allowing('s3:DeleteObject');
    expect(deleting.map(({ name }) => name)).toEqual(['OnEventRole', 'SweepRole', 'ReplayRole', 'FenceRole']);
    for (const { Resource } of deleting) expect(Resource).toEqual(['${IncidentBucket.Arn}/notes/*']);
  });

  it('may use a key only through the services that store the secrets, and not for a call of its own', () => {
    const services = ['secretsmanager', 'ssm'].map((name) => `${name}.\${AWS::Region}.\${AWS::URLSuffix}`);
    const decrypting = allowing('kms:Decrypt');
    expect(decrypting).toHaveLength(roles.length);
    for (const { Condition } of decrypting) expect(Condition).toEqual({ StringEquals: { 'kms:ViaService': services } });
  });

  it('may put only its own events on the bus', () => {
    const sources = allowing('events:PutEvents').map(({ name, Condition }) => [name, Condition]);
    const from = (source: string) => ({ StringEquals: { 'events:source': source } });
    expect(sources).toEqual([
      ...['OnEventRole', 'SweepRole', 'ReplayRole', 'FenceRole'].map((name) => [name, from('cloudfence')]),
      ['DoctorRole', from('cloudfence.test')],
    ]);
  });

  it('lets Lambda connect a function to a network, but not the code of the function', () => {
    for (const { name, statements } of roles) {
      const actions = statements.find(({ Action }) => Action.includes('ec2:CreateNetworkInterface'))?.Action;
      const denied = statements.filter(({ Effect }) => Effect === 'Deny');
      expect({ name, denied }).toMatchObject({
        denied: [
          {
            Action: actions,
            Resource: ['*'],
            Condition: { ArnLike: { 'lambda:SourceFunctionArn': expect.stringMatching(/:function:.*-\*$/) } },
          },
        ],
      });
    }
  });
});
