// browser.mjs: Debian's Chromium, and a page whose console is watched.
import { chromium } from 'playwright-core';

export async function launch() {
  return chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
      '--disable-component-update', '--disable-sync'],
  });
}

/** A page at this address; `complaints` collects what its console says. */
export async function open(browser, address, options = {}) {
  const context = await browser.newContext({ acceptDownloads: true, viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  page.complaints = [];
  page.on('console', (message) => page.complaints.push(message.text()));
  page.on('pageerror', (error) => page.complaints.push(String(error)));
  await page.goto(address);
  await done(page);
  return page;
}

/** The page has answered what was last typed. */
export const done = (page) => page.waitForFunction(() => document.documentElement.dataset.state === 'done');

export async function type(page, text) {
  await page.locator('#model').fill(text);
  await done(page);
}
