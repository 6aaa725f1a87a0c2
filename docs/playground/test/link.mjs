// link.mjs: a link holds a model, and is inflated no further than a model may be long. Needs Node.js alone.
import assert from 'node:assert/strict';
import { deflateRawSync } from 'node:zlib';

try {
  new DecompressionStream('deflate-raw');
} catch {
  console.log('skipped: this Node.js inflates no raw deflate');
  process.exit(0);
}
const { fromFragment, longest, toFragment } = await import(new URL('../src/link.js', import.meta.url));
const fragmentOf = (bytes) => '#model=' + deflateRawSync(bytes).toString('base64url');

for (const text of ['{}', 'ä\n'.repeat(1000), 'x'.repeat(1 << 20)]) assert.equal(await fromFragment(await toFragment(text)), text);
assert.equal(await fromFragment('#other'), null);
assert.equal((await fromFragment(fragmentOf(Buffer.alloc(longest, ' ')))).length, longest);
await assert.rejects(fromFragment('#model=AAAA'));

// What is inflated beyond that is never held.
await assert.rejects(fromFragment(fragmentOf(Buffer.alloc(3 * longest, ' '))), RangeError);
assert.ok(process.memoryUsage().arrayBuffers < 3 * longest);
