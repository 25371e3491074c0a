// Zip archives with what Node has: zlib. No archive past 4 GiB, no encryption.
import { crc32 as crc } from './crc32.mjs';
import { deflateRawSync, inflateRawSync } from 'node:zlib';

const DAY = ((2026 - 1980) << 9) | (1 << 5) | 1; // the same parts are the same file, byte by byte

/** The entries of an archive, by name, in their order. */
export function unzip(bytes) {
  const end = bytes.lastIndexOf(Buffer.from('PK\x05\x06', 'latin1'));
  if (end < 0) throw new Error('this is no zip archive');
  const entries = new Map();
  for (let at = bytes.readUInt32LE(end + 16), left = bytes.readUInt16LE(end + 10); left > 0; left--) {
    const [packed, name, extra, comment, local] = [bytes.readUInt32LE(at + 20), bytes.readUInt16LE(at + 28), bytes.readUInt16LE(at + 30),
      bytes.readUInt16LE(at + 32), bytes.readUInt32LE(at + 42)];
    const data = local + 30 + bytes.readUInt16LE(local + 26) + bytes.readUInt16LE(local + 28);
    const content = bytes.subarray(data, data + packed);
    entries.set(bytes.toString('utf8', at + 46, at + 46 + name), bytes.readUInt16LE(at + 10) === 0 ? content : inflateRawSync(content));
    at += 46 + name + extra + comment;
  }
  return entries;
}

/** An archive of entries, by name. */
export function zip(entries) {
  const files = [], directory = [];
  let offset = 0;
  for (const [name, content] of entries) {
    const path = Buffer.from(name), packed = deflateRawSync(content), head = Buffer.alloc(30), entry = Buffer.alloc(46);
    const common = Buffer.alloc(26); // what the local header and the directory share, from "version needed" on
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(0x800, 2); // names are UTF-8
    common.writeUInt16LE(8, 4);
    common.writeUInt16LE(DAY, 8);
    common.writeUInt32LE(crc(content), 10);
    common.writeUInt32LE(packed.length, 14);
    common.writeUInt32LE(content.length, 18);
    common.writeUInt16LE(path.length, 22);
    head.write('PK\x03\x04', 'latin1');
    common.copy(head, 4);
    entry.write('PK\x01\x02', 'latin1');
    entry.writeUInt16LE(20, 4);
    common.copy(entry, 6);
    entry.writeUInt32LE(offset, 42);
    files.push(head, path, packed);
    directory.push(entry, path);
    offset += head.length + path.length + packed.length;
  }
  const index = Buffer.concat(directory), end = Buffer.alloc(22);
  end.write('PK\x05\x06', 'latin1');
  end.writeUInt16LE(entries.size, 8);
  end.writeUInt16LE(entries.size, 10);
  end.writeUInt32LE(index.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...files, index, end]);
}
