// link.js: a model in the fragment of an address: #model= and base64url of deflate.

/** Bytes of text that a link may hold, as many as the tensors of a model here. */
export const longest = 64 << 20;

/** All bytes of a stream; throws where they are more than `most`. */
async function collected(stream, most = Infinity) {
  const chunks = [];
  let size = 0;
  for (const reader = stream.getReader(); ;) {
    const { done, value } = await reader.read();
    if (done) return new Uint8Array(await new Blob(chunks).arrayBuffer());
    size += value.length;
    if (size > most) {
      await reader.cancel();
      throw new RangeError(`it holds a model of more than ${most >> 20} MiB`);
    }
    chunks.push(value);
  }
}

const through = (bytes, stream) => new Blob([bytes]).stream().pipeThrough(stream);

export async function toFragment(text) {
  const bytes = await collected(through(new TextEncoder().encode(text), new CompressionStream('deflate-raw')));
  let binary = '';
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return '#model=' + btoa(binary).replace(/\+/g, '-').replace(/\//g, '_').replace(/=+$/, '');
}

/** The text; null where the fragment holds none. Throws where it is damaged, or a RangeError where it is too long. */
export async function fromFragment(fragment) {
  const match = /^#model=([\w-]+)$/.exec(fragment);
  if (!match) return null;
  const binary = atob(match[1].replace(/-/g, '+').replace(/_/g, '/'));
  const bytes = Uint8Array.from(binary, (c) => c.charCodeAt(0));
  const text = await collected(through(bytes, new DecompressionStream('deflate-raw')), longest);
  return new TextDecoder('utf-8', { fatal: true }).decode(text);
}
