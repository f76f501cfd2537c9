import { crc32, deflateSync, inflateSync } from 'node:zlib'

const SIGNATURE_BYTES = 8
const MOST_COLOURS = 256

/**
 * The same picture with the 256 colours that it has most of, which a page hardly has more of: a third of the bytes. Takes
 * what Chromium writes: eight bits of red, green and blue, not interlaced.
 */
export function smallerPng(png) {
  const { width, height, pixels } = read(png)
  const palette = commonest(pixels)
  const nearest = new Map(palette.map((colour, at) => [colour, at]))
  // Each row begins with its filter, which is none: of numbers of colours no difference says anything.
  const rows = Buffer.alloc((width + 1) * height)
  pixels.forEach((colour, at) => {
    let found = nearest.get(colour)
    if (found === undefined) {
      found = nearestOf(palette, colour)
      nearest.set(colour, found)
    }
    rows[at + Math.floor(at / width) + 1] = found
  })
  const header = Buffer.from(chunksOf(png).find(({ type }) => type === 'IHDR').data)
  header[9] = 3
  const colours = Buffer.from(palette.flatMap((colour) => [colour >> 16, (colour >> 8) & 255, colour & 255]))
  return Buffer.concat([
    png.subarray(0, SIGNATURE_BYTES),
    chunk('IHDR', header),
    chunk('PLTE', colours),
    chunk('IDAT', deflateSync(rows, { level: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

function chunksOf(png) {
  const chunks = []
  for (let at = SIGNATURE_BYTES; at < png.length; ) {
    const bytes = png.readUInt32BE(at)
    chunks.push({ type: png.toString('latin1', at + 4, at + 8), data: png.subarray(at + 8, at + 8 + bytes) })
    at += bytes + 12
  }
  return chunks
}

function chunk(type, data) {
  const typed = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)]
  length.writeUInt32BE(data.length)
  sum.writeUInt32BE(crc32(typed))
  return Buffer.concat([length, typed, sum])
}

/** Each pixel as one number. */
function read(png) {
  const chunks = chunksOf(png)
  const header = chunks.find(({ type }) => type === 'IHDR').data
  const [width, height] = [header.readUInt32BE(0), header.readUInt32BE(4)]
  const channels = { 2: 3, 6: 4 }[header[9]]
  if (header[8] !== 8 || channels === undefined || header[12] !== 0) throw new TypeError('a PNG of another kind')
  const raw = inflateSync(Buffer.concat(chunks.filter(({ type }) => type === 'IDAT').map(({ data }) => data)))
  const bytes = unfiltered(raw, width * channels, height, channels)
  const pixels = new Uint32Array(width * height)
  for (let at = 0; at < pixels.length; at++) pixels[at] = bytes.readUIntBE(at * channels, 3)
  return { width, height, pixels }
}

/** PNG specification, section 9: what a byte is told as the difference from. */
function unfiltered(raw, rowBytes, height, channels) {
  const bytes = Buffer.alloc(rowBytes * height)
  for (let y = 0; y < height; y++) {
    const filter = raw[y * (rowBytes + 1)]
    for (let x = 0; x < rowBytes; x++) {
      const at = y * rowBytes + x
      const left = x < channels ? 0 : bytes[at - channels]
      const above = y === 0 ? 0 : bytes[at - rowBytes]
      const corner = x < channels || y === 0 ? 0 : bytes[at - rowBytes - channels]
      const guess = [0, left, above, (left + above) >> 1, paeth(left, above, corner)][filter]
      bytes[at] = raw[at + y + 1] + guess
    }
  }
  return bytes
}

function paeth(left, above, corner) {
  const sum = left + above - corner
  const [byLeft, byAbove, byCorner] = [left, above, corner].map((one) => Math.abs(sum - one))
  if (byLeft <= byAbove && byLeft <= byCorner) return left
  return byAbove <= byCorner ? above : corner
}

function commonest(pixels) {
  const counts = new Map()
  for (const colour of pixels) counts.set(colour, (counts.get(colour) ?? 0) + 1)
  const all = [...counts].toSorted(([, a], [, b]) => b - a)
  return all.slice(0, MOST_COLOURS).map(([colour]) => colour)
}

function nearestOf(palette, colour) {
  let best = 0
  let least = Number.POSITIVE_INFINITY
  palette.forEach((one, at) => {
    const [red, green, blue] = [16, 8, 0].map((shift) => ((one >> shift) & 255) - ((colour >> shift) & 255))
    const distance = red * red + green * green + blue * blue
    if (distance < least) [best, least] = [at, distance]
  })
  return best
}
