import type { ByteSource } from './byte-source.ts';

/** Brands of `ftyp`: https://mp4ra.org/registered-types/brands. A brand that is not listed is an unknown type. */
const BRANDS = new Map<string, string>(
  Object.entries({
    'image/avif': 'avif,avis',
    'image/heic': 'heic,heix,heim,heis',
    'image/heic-sequence': 'hevc,hevx,hevm,hevs',
    'image/heif': 'mif1,mif2,miaf,MiHE,MiHB,MiPr,MiAB,MiAn,MiCm',
    'image/heif-sequence': 'msf1',
    'image/x-canon-cr3': 'crx ',
    'image/jxl': 'jxl ',
    'image/jp2': 'jp2 ,jpx ,jpm ',
    'video/quicktime': 'qt  ',
    'audio/mp4': 'M4A ,M4B ,M4P ,F4A ,F4B ',
    'video/mp4':
      'isom,iso2,iso3,iso4,iso5,iso6,iso7,iso8,iso9,isoa,isob,isoc,mp41,mp42,mp71,avc1,hvc1,hev1,av01,' +
      'M4V ,M4VH,M4VP,F4V ,F4P ,dash,dsms,msdh,msix,cmfc,cmff,cmfs,cmfl,cmf2,MSNV,XAVC,NDSC,NDSH,NDSM,' +
      'NDSP,NDSS,NDXC,NDXH,NDXM,NDXP,NDXS,NDAS,mmp4,FACE,iphE,piff,ccff,dby1,hlsi,mqt ,isml,caqv,CAEP,' +
      'pana,niko,dvr1,dvt1,SDV ',
    'video/3gpp':
      '3gp1,3gp2,3gp3,3gp4,3gp5,3gp6,3gp7,3gp8,3gp9,3gpa,3ge6,3ge7,3ge9,3gf9,3gg6,3gg9,3gh9,3gm9,3gma,' +
      '3gr6,3gr9,3gs6,3gs7,3gs9,3gt8,3gt9,3gtv,3gvr,3gmA,3g2a,3g2b,3g2c,3g2d,kddi,KDDI',
  }).flatMap(([type, brands]) => brands.split(',').map((brand) => [brand, type] as const)),
);

/** The types of brands that say nothing about the tracks: the file may hold sound only. */
const GENERIC_TYPES = ['video/mp4', 'video/3gpp'];
/** The codecs of images in the generic brand `mif1`. */
const IMAGE_CODECS: readonly (readonly [brand: RegExp, type: string])[] = [
  [/avi[fs]/, 'image/avif'],
  [/hei[cxms]/, 'image/heic'],
];
/** Boxes with which a QuickTime file without `ftyp` begins, and those that may follow the fillers among them. */
const OLD_STARTS = ['moov', 'mdat', 'wide', 'free', 'skip', 'pnot'];
const FILLERS = ['wide', 'free', 'skip', 'pnot'];
/** Boxes that are looked at in one file. */
const MAX_BOXES = 500;
const MAX_FTYP_BYTES = 4096;

interface Box {
  type: string;
  /** The position of the content and of the end. */
  start: number;
  end: number;
}

/** Lists the boxes between two positions. @param budget the boxes that may still be looked at */
async function* readBoxes(
  source: ByteSource,
  start: number,
  end: number,
  budget: { boxes: number },
): AsyncGenerator<Box> {
  for (let at = start; at + 8 <= end && budget.boxes > 0; budget.boxes--) {
    const header = await source.read(at, 16);
    if (header.length < 8) return;
    const size = header.readUInt32BE(0);
    const isLarge = size === 1 && header.length === 16;
    const bytes = isLarge ? Number(header.readBigUInt64BE(8)) : size === 0 ? end - at : size;
    const headerBytes = isLarge ? 16 : 8;
    if (!(bytes >= headerBytes)) return;
    const boxEnd = Math.min(at + bytes, end);
    yield { type: header.toString('latin1', 4, 8), start: at + headerBytes, end: boxEnd };
    at = boxEnd;
  }
}

/** Returns the kinds of the tracks of a film, such as `vide` and `soun`. */
async function findTrackKinds(source: ByteSource): Promise<Set<string>> {
  const budget = { boxes: MAX_BOXES };
  const kinds = new Set<string>();
  const visit = async ({ start, end }: Pick<Box, 'start' | 'end'>, path: readonly string[]): Promise<void> => {
    for await (const box of readBoxes(source, start, end, budget)) {
      if (box.type === path[0]) await visit(box, path.slice(1));
      else if (path.length === 0 && box.type === 'hdlr')
        kinds.add((await source.read(box.start + 8, 4)).toString('latin1'));
    }
  };
  await visit({ start: 0, end: source.bytes }, ['moov', 'trak', 'mdia']);
  return kinds;
}

/** Returns the type of an image of a generic brand by the brands that follow, which say which codec is used. */
function findImageCodec(first: Buffer): string | undefined {
  const end = Math.min(first.readUInt32BE(0), MAX_FTYP_BYTES, first.length);
  const compatible = first.toString('latin1', 16, end);
  return IMAGE_CODECS.find(([brand]) => brand.test(compatible))?.[1];
}

/** Whether a file begins with legal boxes of QuickTime, but without `ftyp`. */
function isOldQuickTime(first: Buffer): boolean {
  const type = first.toString('latin1', 4, 8);
  const size = first.readUInt32BE(0);
  if (!OLD_STARTS.includes(type) || !(size >= 8 || (size <= 1 && type === 'mdat'))) return false;
  if (!FILLERS.includes(type) || size + 8 > first.length) return true;
  return [...OLD_STARTS, 'ftyp', 'uuid', 'meta'].includes(first.toString('latin1', size + 4, size + 8));
}

/**
 * Recognizes files of the ISO base media format and QuickTime by their brand.
 *
 * @returns undefined for other files. `isGeneric`: the brand says nothing about the tracks, see `recognizeTracks`
 */
export function readIsoMedia(first: Buffer): { type: string; isGeneric: boolean } | undefined {
  if (first.length < 16) return undefined;
  if (first.toString('latin1', 4, 8) !== 'ftyp')
    return isOldQuickTime(first) ? { type: 'video/quicktime', isGeneric: false } : undefined;
  const type = BRANDS.get(first.toString('latin1', 8, 12)) ?? 'application/octet-stream';
  if (type === 'image/heif') return { type: findImageCodec(first) ?? type, isGeneric: false };
  return { type, isGeneric: GENERIC_TYPES.includes(type) };
}

/** Returns the type of a film of a generic brand: that of sound if none of its tracks has pictures. */
export async function recognizeTracks(type: string, source: ByteSource): Promise<string> {
  const kinds = await findTrackKinds(source);
  return kinds.has('soun') && !kinds.has('vide') && !kinds.has('pict') ? type.replace('video/', 'audio/') : type;
}
