import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import react from '@vitejs/plugin-react'
import { defineConfig, type Plugin } from 'vite'

const out = 'dist/app'

// The first page is index.html with all that it loads before it shows something.
const firstPageMost = 260 * 1024
const chunkMost = 60 * 1024

/** Writes a .br and a .gz beside each text file, so that the controller compresses nothing, and holds their sizes to limits. */
function compressed(): Plugin {
  return {
    name: 'compressed',
    apply: 'build',
    closeBundle() {
      const gzipped = new Map<string, number>()
      for (const name of readdirSync(out, { recursive: true, encoding: 'utf8' })) {
        if (!/\.(js|css|html|svg)$/.test(name)) continue
        const content = readFileSync(join(out, name))
        const gzip = gzipSync(content, { level: 9 })
        writeFileSync(join(out, `${name}.gz`), gzip)
        writeFileSync(join(out, `${name}.br`), brotliCompressSync(content))
        gzipped.set(name, gzip.length)
      }
      holdSizes(gzipped, readFileSync(join(out, 'index.html'), 'utf8'))
    },
  }
}

function holdSizes(gzipped: Map<string, number>, index: string) {
  let firstPage = 0
  for (const [name, bytes] of gzipped) {
    const first = name === 'index.html' || index.includes(`/${name}`)
    if (first) firstPage += bytes
    if (!first && bytes > chunkMost) throw new Error(`${name} has ${bytes} bytes gzipped, more than ${chunkMost}`)
  }
  if (firstPage > firstPageMost) throw new Error(`the first page has ${firstPage} bytes gzipped, more than ${firstPageMost}`)
  console.log(`first page: ${(firstPage / 1024).toFixed(1)} KiB gzipped, of at most ${firstPageMost / 1024}`)
}

export default defineConfig({
  plugins: [react(), compressed()],
  build: { outDir: out, emptyOutDir: true, modulePreload: { polyfill: false }, assetsInlineLimit: 0, reportCompressedSize: false },
})
