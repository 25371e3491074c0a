const table = Int32Array.from({ length: 256 }, (_, n) => {
  for (let bit = 0; bit < 8; bit++) n = n & 1 ? (n >>> 1) ^ 0xedb88320 : n >>> 1;
  return n;
});

/** The CRC-32 of bytes, as zip archives have it. */
export function crc32(bytes) {
  let crc = -1;
  for (const b of bytes) crc = table[(crc ^ b) & 255] ^ (crc >>> 8);
  return ~crc >>> 0;
}
