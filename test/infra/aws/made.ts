import {
  openService,
  templateIn,
  type Packaged,
  type PackagedService,
  type PackagedTemplate,
} from '../packaged-service.ts';
import { SANDBOX_REGION } from '../../../sandbox/aws-sandbox.ts';
import { full, plain } from './stage-files.ts';

/** The result of `serverless package` for the defaults, and for a stage that sets every parameter. */
export interface Made {
  readonly service: PackagedService;
  /** With the defaults. */
  readonly packaged: Packaged;
  readonly usual: PackagedTemplate;
  readonly other: PackagedTemplate;
}

export const makeAll = async (): Promise<Made> => {
  const service = await openService({ prod: plain, full });
  const packaged = await service.package('prod', '--region', SANDBOX_REGION);
  const other = await service.package('full');
  return { service, packaged, usual: await templateIn(packaged), other: await templateIn(other) };
};
