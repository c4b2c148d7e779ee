import { expect, it } from 'vitest';
import { openService } from '../packaged-service.ts';
import { plain } from './stage-files.ts';

it('a command that names another region than the parameters is rejected, and so is one without a region', async () => {
  const service = await openService({ here: { ...plain, region: 'eu-north-1' }, nowhere: plain });
  const [elsewhere, nowhere, asked] = await Promise.all([
    service.package('here', '--region', 'us-east-1'),
    service.package('nowhere'),
    service.run(['info', '--stage', 'here', '--region', 'us-east-1'], {}),
  ]);
  await service.close();
  expect(elsewhere).toMatchObject({
    code: 1,
    said: expect.stringMatching(/region: stages\/here\.yml sets eu-north-1, but --region sets us-east-1/),
  });
  expect(nowhere).toMatchObject({
    code: 1,
    said: expect.stringMatching(/region: no region is set: add it to stages\/nowhere\.yml/),
  });
  expect(asked).toMatchObject({
    code: 1,
    said: expect.stringMatching(/Cloudfence did nothing[\s\S]*sets eu-north-1/),
  });
});
