import { describe, expect, it } from 'vitest';
import { tidyResources } from '../../infra/serverless/tidy-template.ts';

describe('the cleanup of the template', () => {
  it('omits what is turned off: a resource, a statement, a condition', () => {
    const policy = {
      Statement: [{ When: false, Sid: 'A' }, { When: true, Sid: 'B', Condition: { When: false } }, { Sid: 'C' }],
    };
    const tidied = tidyResources({
      Off: { Type: 'T', Metadata: { When: false } },
      On: { Type: 'T', Metadata: { When: true }, Properties: { policy } },
    });
    expect(tidied).toEqual({ On: { Type: 'T', Properties: { policy: { Statement: [{ Sid: 'B' }, { Sid: 'C' }] } } } });
  });

  it('leaves the decision to CloudFormation if a condition is named', () => {
    const policy = { Statement: [{ When: 'WithA', Sid: 'A' }] };
    const tidied = tidyResources({ One: { Type: 'T', Metadata: { When: 'WithOne' }, Properties: { policy } } });
    expect(tidied).toEqual({
      One: {
        Type: 'T',
        Condition: 'WithOne',
        Properties: { policy: { Statement: [{ 'Fn::If': ['WithA', { Sid: 'A' }, { Ref: 'AWS::NoValue' }] }] } },
      },
    });
  });

  it('writes a statement once for each condition, and once without conditions', () => {
    const made = (OneForEach: readonly object[]) =>
      tidyResources({ One: { Type: 'T', Properties: { Statement: [{ Sid: 'A', OneForEach }, { Sid: 'B' }] } } })['One']
        ?.Properties;
    expect(made([{ is: 1 }, { is: 2 }])).toEqual({
      Statement: [{ Sid: 'A', Condition: { is: 1 } }, { Sid: 'A2', Condition: { is: 2 } }, { Sid: 'B' }],
    });
    expect(made([])).toEqual({ Statement: [{ Sid: 'A' }, { Sid: 'B' }] });
  });

  it('removes a dependency that a reference implies, and keeps the others', () => {
    const Properties = { Role: { 'Fn::GetAtt': ['Role', 'Arn'] }, Queue: [{ Ref: 'Queue' }] };
    expect(tidyResources({ One: { Type: 'T', DependsOn: ['Role', 'Queue', 'Logs'], Properties } })).toEqual({
      One: { Type: 'T', DependsOn: ['Logs'], Properties },
    });
  });
});
