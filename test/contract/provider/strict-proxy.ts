import { EC2Client } from '@aws-sdk/client-ec2';
import { XMLBuilder } from 'fast-xml-parser';
import { type Answered, openStandIn, type Request, type StandIn } from '../../providers/stand-in.ts';
import { strictAnswers, type StrictAnswers } from './strict-answers.ts';
import { refusalOf, type Refusal } from './strict-refusals.ts';

const XML = { 'content-type': 'text/xml' };

/**
 * A proxy in front of moto. It rejects what EC2 rejects and moto accepts, and adds to the answers of moto what EC2
 * would say.
 */
export const openStrictProxy = async (moto: string, region: string): Promise<StandIn> => {
  const client = new EC2Client({
    endpoint: moto,
    region,
    credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
  });
  const answers = strictAnswers(() => new Date());
  const proxy = await openStandIn((request) => answered(moto, client, answers, request));
  const close = async (): Promise<void> => {
    client.destroy();
    await proxy.close();
  };
  return { ...proxy, close };
};

const answered = async (
  moto: string,
  client: EC2Client,
  answers: StrictAnswers,
  { authorization, body: sent }: Request,
): Promise<Answered> => {
  const body = sent.toString();
  const params = new URLSearchParams(body);
  const refusal = await refusalOf(client, params);
  if (refusal) return { status: 400, headers: XML, body: refusalXml(refusal) };
  const headers = { 'content-type': 'application/x-www-form-urlencoded', authorization: authorization ?? '' };
  const answer = await fetch(moto, { method: 'POST', headers, body });
  if (answer.ok) answers.heed(params);
  return { status: answer.status, headers: XML, body: answers.mended(await answer.text()) };
};

const refusalXml = ({ code, message }: Refusal): string =>
  new XMLBuilder().build({
    Response: { Errors: { Error: { Code: code, Message: message } }, RequestID: 'strict-proxy' },
  });
