import { supportedMimeTypes } from 'file-type';
import { suggestClosestName } from '../../../helpers/did-you-mean.ts';
import { ARCHIVE_TYPES } from './archives.ts';
import { COMPOUND_TYPES } from './compound-files.ts';
import { TEXT_TYPES } from './markup.ts';

/** Other names of media types, by the name that Belfry uses. */
const ALIASES: Readonly<Record<string, string>> = {
  'image/jpeg': 'image/jpg image/pjpeg image/jpe image/jfif image/x-jpeg image/x-citrix-jpeg',
  'image/png': 'image/x-png image/apng image/vnd.mozilla.apng image/x-citrix-png',
  'image/bmp': 'image/x-bmp image/x-ms-bmp image/x-windows-bmp application/bmp',
  'image/x-icon': 'image/vnd.microsoft.icon image/ico image/icon image/x-ico application/ico',
  'image/tiff': 'image/tif image/x-tif image/x-tiff',
  'image/webp': 'image/x-webp',
  'image/svg+xml': 'image/svg image/svg-xml application/svg+xml text/svg',
  'image/jp2': 'image/jpeg2000 image/jpeg2000-image image/x-jpeg2000-image image/jpx image/jpm',
  'image/vnd.adobe.photoshop':
    'image/psd image/x-psd image/photoshop image/x-photoshop application/photoshop application/psd ' +
    'application/x-photoshop',
  'audio/wav': 'audio/x-wav audio/wave audio/vnd.wave audio/x-pn-wav',
  'audio/mpeg':
    'audio/mp3 audio/x-mp3 audio/mpeg3 audio/x-mpeg3 audio/x-mpeg audio/x-mpeg-3 audio/mpg audio/x-mpg ' +
    'audio/mp2 audio/x-mp2 audio/mp1 audio/mpa audio/x-mpegaudio',
  'audio/mp4': 'audio/m4a audio/x-m4a audio/m4b audio/x-m4b audio/x-m4p audio/x-mp4 audio/mp4a-latm',
  'audio/aac': 'audio/x-aac audio/aacp audio/x-aacp audio/x-hx-aac-adts audio/vnd.dlna.adts audio/adts',
  'audio/flac': 'audio/x-flac',
  'audio/ogg': 'audio/x-ogg audio/opus audio/x-opus audio/vorbis audio/x-vorbis audio/speex audio/x-speex',
  'audio/midi': 'audio/x-midi audio/mid audio/x-mid audio/sp-midi application/x-midi',
  'audio/aiff': 'audio/x-aiff audio/aif audio/x-aif',
  'audio/amr': 'audio/x-amr audio/amr-nb audio/amr-wb audio/amr-wb+',
  'audio/ac3': 'audio/x-ac3 audio/vnd.dolby.dd-raw audio/eac3 audio/x-eac3 audio/a52',
  'audio/x-ms-asf': 'audio/x-ms-wma audio/wma audio/x-wma audio/asf',
  'audio/x-caf': 'audio/caf',
  'audio/3gpp': 'audio/3gpp2 audio/3gp',
  'audio/x-matroska': 'audio/matroska audio/mkv audio/x-mka',
  'audio/ape': 'audio/x-ape audio/x-monkeys-audio',
  'audio/wavpack': 'audio/x-wavpack',
  'video/mp4': 'video/x-m4v video/m4v video/x-mp4 video/h264 video/mpeg4 video/mp4v-es application/mp4',
  'video/quicktime': 'video/x-quicktime video/mov video/x-mov video/qt image/mov application/quicktime',
  'video/x-msvideo': 'video/avi video/msvideo video/vnd.avi video/x-avi video/divx application/x-troff-msvideo',
  'video/x-matroska': 'video/matroska video/mkv video/x-mkv',
  'video/mpeg':
    'video/x-mpeg video/mpg video/x-mpg video/mpeg2 video/x-mpeg2 video/mp2p video/mp1s video/x-mpeg-system ' +
    'video/mp2 video/dvd',
  'video/mp2t': 'video/x-mpegts video/mpegts video/mts video/m2ts video/vnd.dlna.mpeg-tts video/avchd-stream',
  'video/x-ms-asf': 'video/x-ms-wmv video/wmv video/x-wmv video/asf video/x-ms-wm video/x-ms-asf-plugin',
  'video/x-flv': 'video/flv application/x-flv flv-application/octet-stream',
  'video/3gpp': 'video/3gp video/3gpp2 video/3g2',
  'video/ogg': 'video/x-ogg video/x-theora video/theora video/x-theora+ogg video/x-ogm video/x-ogm+ogg',
  'application/ogg': 'application/x-ogg',
  'application/vnd.ms-asf': 'application/x-ms-asf',
  'application/gzip':
    'application/x-gzip application/gzip-compressed application/gzipped application/x-gunzip application/x-tgz',
  'application/zip':
    'application/x-zip-compressed application/x-zip application/zip-compressed application/x-compressed-zip',
  'application/vnd.rar': 'application/x-rar-compressed application/x-rar application/rar',
  'application/x-7z-compressed': 'application/7z application/x-7zip application/x-7zip-compressed application/x-7z',
  'application/x-bzip2': 'application/bzip2 application/x-bzip application/x-bz2 application/x-bz',
  'application/x-xz': 'application/xz',
  'application/zstd': 'application/x-zstd',
  'application/x-tar': 'application/tar application/x-gtar application/x-ustar',
  'application/vnd.sqlite3': 'application/x-sqlite3 application/x-sqlite',
  'application/pdf': 'application/x-pdf application/acrobat application/vnd.pdf text/pdf',
  'application/rtf': 'text/rtf application/x-rtf text/richtext',
  'application/xml': 'text/xml application/x-xml',
  'application/postscript': 'application/ps application/x-postscript',
  'application/eps': 'application/x-eps image/eps image/x-eps',
  'application/epub+zip': 'application/epub application/x-epub+zip',
  'application/java-archive': 'application/x-java-archive application/x-jar application/jar',
  'application/java-vm': 'application/x-java-vm application/x-java application/java',
  'application/x-executable': 'application/x-elf application/x-sharedlib application/x-pie-executable',
  'application/x-msdownload':
    'application/vnd.microsoft.portable-executable application/x-dosexec application/x-msdos-program ' +
    'application/exe application/x-exe application/x-winexe application/dos-exe application/msdos-windows',
  'application/x-msi': 'application/x-ms-installer application/msi application/x-windows-installer',
  'application/msword':
    'application/vnd.ms-word application/doc application/x-msword application/word application/vnd.msword',
  'application/vnd.ms-excel':
    'application/msexcel application/x-msexcel application/excel application/x-excel application/xls ' +
    'application/x-xls',
  'application/vnd.ms-powerpoint':
    'application/mspowerpoint application/powerpoint application/x-mspowerpoint application/vnd.ms-ppt ' +
    'application/ppt',
  'application/vnd.visio':
    'application/vnd.ms-visio application/vnd.ms-visio.drawing application/x-visio application/visio',
  'application/x-cfb': 'application/x-ole-storage',
  'application/vnd.ms-xpsdocument': 'application/xps',
  'application/x-shockwave-flash': 'application/vnd.adobe.flash.movie application/futuresplash',
  'application/vnd.iccprofile': 'application/x-iccprofile',
  'application/vnd.android.package-archive': 'application/x-apk application/apk',
  'application/vnd.oasis.opendocument.database': 'application/vnd.oasis.opendocument.base',
  'application/json': 'text/json application/x-json text/x-json',
  'application/x-ndjson':
    'application/ndjson application/jsonl application/x-jsonl application/jsonlines application/x-jsonlines ' +
    'application/json-lines text/x-ndjson',
  'application/yaml': 'application/x-yaml text/yaml text/x-yaml text/vnd.yaml',
  'application/toml': 'text/x-toml text/toml',
  'application/x-subrip': 'text/srt text/x-srt application/srt text/x-subrip text/subrip application/x-srt',
  'text/csv': 'application/csv application/x-csv text/x-csv text/comma-separated-values text/x-comma-separated-values',
  'text/tab-separated-values': 'text/tsv text/x-tsv',
  'text/markdown': 'text/x-markdown text/md application/markdown application/x-markdown',
  'text/calendar': 'application/ics text/ics text/x-vcalendar',
  'text/vcard': 'text/x-vcard text/directory text/vcf',
  'text/html': 'application/xhtml+xml text/xhtml',
  'text/x-script': 'application/x-sh application/x-shellscript text/x-sh text/x-shellscript',
  'font/woff': 'application/font-woff application/x-font-woff',
  'font/woff2': 'application/font-woff2 application/x-font-woff2',
  'font/ttf':
    'application/x-font-ttf application/x-font-truetype font/truetype font/x-ttf application/font-ttf ' +
    'application/font-sfnt font/sfnt',
  'font/otf':
    'application/x-font-otf application/x-font-opentype font/opentype application/font-otf ' +
    'application/vnd.ms-opentype',
  'model/stl': 'model/x.stl-binary application/sla application/vnd.ms-pki.stl',
  'application/octet-stream': 'binary/octet-stream application/binary application/x-binary',
};

const CANONICAL = new Map(
  Object.entries(ALIASES).flatMap(([type, aliases]) => aliases.split(' ').map((alias) => [alias, type] as const)),
);

/** Returns the name that Belfry uses for a media type: `image/jpeg` for `image/jpg`. Unknown types stay unchanged. */
export function canonicalType(type: string): string {
  const name = type.split(';', 1)[0]!.trim().toLowerCase();
  return CANONICAL.get(name) ?? name;
}

/** Text formats that cannot be recognized by their content and that browsers never execute, by the extension of file names. */
const CLAIMED_TEXTS = new Map([
  ['csv', 'text/csv'],
  ['tsv', 'text/tab-separated-values'],
  ['md', 'text/markdown'],
  ['ics', 'text/calendar'],
  ['vcf', 'text/vcard'],
  ['json', 'application/json'],
  ['ndjson', 'application/x-ndjson'],
  ['jsonl', 'application/x-ndjson'],
  ['geojson', 'application/geo+json'],
  ['jsonld', 'application/ld+json'],
  ['srt', 'application/x-subrip'],
  ['yaml', 'application/yaml'],
  ['yml', 'application/yaml'],
  ['toml', 'application/toml'],
]);
/** Formats of XML, by the extension of file names. */
const CLAIMED_XML = new Map([
  ['gpx', 'application/gpx+xml'],
  ['kml', 'application/vnd.google-earth.kml+xml'],
  ['rss', 'application/rss+xml'],
  ['atom', 'application/atom+xml'],
  ['tcx', 'application/vnd.garmin.tcx+xml'],
  ['musicxml', 'application/vnd.recordare.musicxml+xml'],
  ['dae', 'model/vnd.collada+xml'],
  ['xlf', 'application/xliff+xml'],
  ['ttml', 'application/ttml+xml'],
]);
/** The formats that a claim can choose among those of one family, by the type that the content has. */
const CLAIMED = new Map([
  ['text/plain', CLAIMED_TEXTS],
  ['application/xml', CLAIMED_XML],
]);
const TEXTS = new Set(['text/plain', 'text/vtt', ...CLAIMED_TEXTS.values()]);

/** Whether files of this type are text, which must be UTF-8. */
export function isTextType(type: string): boolean {
  return TEXTS.has(type);
}

/**
 * Chooses between formats whose content looks alike: the claimed type or the extension decides, if it belongs to the family of the content.
 *
 * @param found the type by the content
 */
export function chooseClaimedType(found: string, claimed: string, name: string): string {
  const family = CLAIMED.get(found);
  if (family === undefined) return found;
  const claim = canonicalType(claimed);
  if ([...family.values()].includes(claim)) return claim;
  return family.get(name.slice(name.lastIndexOf('.') + 1).toLowerCase()) ?? found;
}

/** Formats that were built on another one, so that a field for that one accepts them as well. */
const BASES = new Map<string, string>([
  ['text/vtt', 'text/plain'],
  ...[...CLAIMED_XML.values()].map((type) => [type, 'application/xml'] as const),
  ...COMPOUND_TYPES.map((type) => [type, 'application/x-cfb'] as const),
  ...['x-canon-cr2', 'x-nikon-nef', 'x-adobe-dng', 'x-sony-arw'].map((raw) => [`image/${raw}`, 'image/tiff'] as const),
]);

/** The type and the one that it is built on, if there is one. */
export function withBaseType(type: string): string[] {
  const base = BASES.get(type);
  return base === undefined ? [type] : [type, base];
}

/** Types of the detector that two or three bytes decide, so that they are not given. */
export const WEAK_TYPES: ReadonlySet<string> = new Set([
  ...['application/x-apple-diskimage', 'application/x-arj', 'application/x-cpio', 'application/x-compress'],
  ...['text/calendar', 'text/vcard', 'text/vtt', 'application/xml', 'application/pgp-encrypted', 'model/stl'],
]);
/** Types that files can have, besides those of the detector. */
const OWN_TYPES = [
  ...['application/octet-stream', 'audio/webm', 'audio/x-matroska', 'audio/3gpp', 'audio/mp4', 'audio/ac3'],
  ...CLAIMED_TEXTS.values(),
  ...CLAIMED_XML.values(),
  ...TEXT_TYPES,
  ...ARCHIVE_TYPES,
  ...COMPOUND_TYPES,
];

/** All types that files can have. */
export const KNOWN_TYPES: ReadonlySet<string> = new Set([
  ...OWN_TYPES,
  ...[...supportedMimeTypes].filter((type) => !WEAK_TYPES.has(type)).map(canonicalType),
]);

/** Types that stand for those which no file can have, by their names. */
const NEAREST: readonly (readonly [name: RegExp, type: string])[] = [
  [/javascript|ecmascript|typescript|css|sql|^text\/x-|^text\/(?!html)/, 'text/plain'],
  [/\+xml/, 'application/xml'],
  [/\+(?:json|cbor)/, 'application/json'],
  [/\+zip|compress/, 'application/zip'],
  [/word/, 'application/msword'],
  [/excel|spreadsheet/, 'application/vnd.ms-excel'],
  [/powerpoint|presentation/, 'application/vnd.ms-powerpoint'],
  [/^image\//, 'image/*'],
  [/^audio\//, 'audio/*'],
  [/^video\//, 'video/*'],
  [/^font\//, 'font/*'],
];

/** Suggests a type for one that no file can have, as the end of an error message. */
export function suggestMediaType(name: string): string {
  const [nearest] = NEAREST.filter(([pattern]) => pattern.test(name)).map(([, type]) => type);
  if (nearest === 'text/plain') return `. The nearest type is "${nearest}"`;
  return suggestClosestName(name, KNOWN_TYPES) || `. The nearest type is "${nearest ?? 'application/octet-stream'}"`;
}
