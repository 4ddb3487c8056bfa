import type { ByteSource } from './byte-source.ts';

const UNKNOWN = 'application/x-cfb';
const HEADER_BYTES = 512;
const ENTRY_BYTES = 128;
/** Sectors of the directory that are read. */
const MAX_SECTORS = 256;
/** Parts of the list of sectors that are read: files up to 8 GiB. */
const MAX_LISTS = 1024;
const NONE = 0xff_ff_ff_fa;
/** The class of packages of Windows Installer, as it is stored. */
const INSTALLER = '84100c0000000000c000000000000046';

/** Documents by the name of a stream at the top. The most dangerous come first. */
const STREAMS: readonly (readonly [stream: RegExp, type: string])[] = [
  [/^PowerPoint Document$/, 'application/vnd.ms-powerpoint'],
  [/^(?:Workbook|Book)$/, 'application/vnd.ms-excel'],
  [/^WordDocument$/, 'application/msword'],
  [/^__(?:properties_version1\.0|nameid_version1\.0)$/, 'application/vnd.ms-outlook'],
  [/^VisioDocument$/, 'application/vnd.visio'],
  [/^Quill$/, 'application/x-mspublisher'],
  [/^ {3}\d{2,3}$/, 'application/vnd.ms-project'],
  [/^HwpSummaryInformation$/, 'application/x-hwp'],
];

/** The types that a compound file may turn out to be. */
export const COMPOUND_TYPES: readonly string[] = [UNKNOWN, 'application/x-msi', ...STREAMS.map(([, type]) => type)];

interface Entry {
  name: string;
  left: number;
  right: number;
  child: number;
  classId: string;
}

function readEntries(sector: Buffer): Entry[] {
  return Array.from({ length: Math.floor(sector.length / ENTRY_BYTES) }, (_, index) => {
    const entry = sector.subarray(index * ENTRY_BYTES, (index + 1) * ENTRY_BYTES);
    const nameBytes = Math.max(0, Math.min(64, entry.readUInt16LE(64)) - 2);
    return {
      // The names of some streams begin with a control character.
      name: entry.toString('utf16le', 0, nameBytes).replace(/^\p{Cc}/u, ''),
      left: entry.readUInt32LE(68),
      right: entry.readUInt32LE(72),
      child: entry.readUInt32LE(76),
      classId: entry.toString('hex', 80, 96),
    };
  });
}

/** Reads the sectors of a compound file: https://learn.microsoft.com/openspecs/windows_protocols/ms-cfb */
function createSectors(source: ByteSource, header: Buffer) {
  const sectorBytes = 2 ** header.readUInt16LE(30);
  const perSector = sectorBytes / 4;
  const read = (sector: number) => source.read((sector + 1) * sectorBytes, sectorBytes);

  /** Returns the sector that holds a part of the table of sectors. The header lists the first 109, further sectors the rest. */
  async function findTableSector(index: number): Promise<number> {
    if (index < 109) return header.readUInt32LE(76 + index * 4);
    let list = header.readUInt32LE(68);
    let left = index - 109;
    for (let count = 0; count < MAX_LISTS && list < NONE; count++) {
      const sector = await read(list);
      if (sector.length < sectorBytes) break;
      if (left < perSector - 1) return sector.readUInt32LE(left * 4);
      left -= perSector - 1;
      list = sector.readUInt32LE(sectorBytes - 4);
    }
    return NONE;
  }

  return {
    isLegal: sectorBytes === 512 || sectorBytes === 4096,
    read,
    /** Returns the sector that follows another one. */
    async next(sector: number): Promise<number> {
      const table = await findTableSector(Math.floor(sector / perSector));
      if (table >= NONE) return NONE;
      const entries = await read(table);
      const at = (sector % perSector) * 4;
      return at + 4 <= entries.length ? entries.readUInt32LE(at) : NONE;
    },
  };
}

/** Returns the entries at the top: the children of the root are a tree of siblings. */
function findTopNames(entries: readonly Entry[]): string[] {
  const seen = new Set<number>();
  const waiting = [entries[0]!.child];
  const names: string[] = [];
  for (let index = waiting.pop(); index !== undefined; index = waiting.pop()) {
    const entry = entries[index];
    if (entry === undefined || seen.has(index)) continue;
    seen.add(index);
    names.push(entry.name);
    waiting.push(entry.left, entry.right);
  }
  return names;
}

/** Determines the type of a compound file of Microsoft by its class and the streams at its top; `application/x-cfb` for others. */
export async function recognizeCompoundFile(source: ByteSource): Promise<string> {
  const header = await source.read(0, HEADER_BYTES);
  if (header.length < HEADER_BYTES) return UNKNOWN;
  const sectors = createSectors(source, header);
  if (!sectors.isLegal) return UNKNOWN;
  const entries: Entry[] = [];
  const seen = new Set<number>();
  let sector = header.readUInt32LE(48);
  while (sector < NONE && !seen.has(sector) && seen.size < MAX_SECTORS) {
    seen.add(sector);
    entries.push(...readEntries(await sectors.read(sector)));
    sector = await sectors.next(sector);
  }
  const root = entries[0];
  if (root === undefined) return UNKNOWN;
  if (root.classId === INSTALLER) return 'application/x-msi';
  const names = findTopNames(entries);
  return STREAMS.find(([stream]) => names.some((name) => stream.test(name)))?.[1] ?? UNKNOWN;
}
