import { XMLBuilder, XMLParser } from 'fast-xml-parser';
import { z } from 'zod';
import type { SharedAttachment } from './shared-disks.ts';

/**
 * The XML in which EC2 describes volumes.
 * https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeVolumes.html
 */

const volume = z.looseObject({ volumeId: z.string() });
type Volume = z.infer<typeof volume>;

const none = z.literal('').transform((): { readonly item: Volume[] } => ({ item: [] }));
const answer = z.looseObject({
  DescribeVolumesResponse: z.looseObject({ volumeSet: z.union([z.looseObject({ item: z.array(volume) }), none]) }),
});

const FORM = { ignoreAttributes: false, parseTagValue: false };

const read = (xml: string) =>
  answer.parse(new XMLParser({ ...FORM, ignoreDeclaration: true, isArray: (name) => name === 'item' }).parse(xml));

export const volumesIn = (xml: string): readonly Volume[] => read(xml).DescribeVolumesResponse.volumeSet.item;

type AttachmentsOf = (volume: string) => readonly SharedAttachment[] | null;

const asShared = (one: Volume, attachmentsOf: AttachmentsOf): Volume => {
  const attachments = attachmentsOf(one.volumeId);
  if (attachments === null) return one;
  return {
    ...one,
    multiAttachEnabled: 'true',
    status: attachments.length > 0 ? 'in-use' : 'available',
    attachmentSet: { item: attachments },
  };
};

/** The same answer with `more` volumes in it, and with each shared volume as its instances see it. */
export const withAttachments = (xml: string, more: readonly Volume[], attachmentsOf: AttachmentsOf): string => {
  const { DescribeVolumesResponse: said } = read(xml);
  const item = [...said.volumeSet.item, ...more].map((one) => asShared(one, attachmentsOf));
  return new XMLBuilder(FORM).build({ DescribeVolumesResponse: { ...said, volumeSet: { item } } });
};
