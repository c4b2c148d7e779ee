import { describe, expect, it } from 'vitest';
import { tidyResources } from '../../infra/serverless/tidy-template.ts';

describe('the last hand on the template', () => {
  it('leaves out what is switched off: a resource, a statement, a condition', () => {
    const policy = { Statement: [{ When: false, Sid: 'A' }, { When: true, Sid: 'B', Condition: { When: false } }, { Sid: 'C' }] };
    const tidied = tidyResources({ Off: { Type: 'T', Metadata: { When: false } }, On: { Type: 'T', Metadata: { When: true }, Properties: { policy } } });
    expect(tidied).toEqual({ On: { Type: 'T', Properties: { policy: { Statement: [{ Sid: 'B' }, { Sid: 'C' }] } } } });
  });

  it('drops a dependency that a reference implies, and keeps the others', () => {
    const Properties = { Role: { 'Fn::GetAtt': ['Role', 'Arn'] }, Queue: [{ Ref: 'Queue' }] };
    expect(tidyResources({ One: { Type: 'T', DependsOn: ['Role', 'Queue', 'Logs'], Properties } })).toEqual({ One: { Type: 'T', DependsOn: ['Logs'], Properties } });
  });
});
