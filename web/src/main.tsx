import { CSPProvider } from '@base-ui/react/csp-provider'
import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { onWrite } from './api/changes'
import { App } from './app/App'
import './tokens.css'
import { Located } from './url/location'

const client = new QueryClient({ defaultOptions: { queries: { retry: false, staleTime: 1000, gcTime: 120_000 } } })

onWrite(() => void client.invalidateQueries())

const root = document.getElementById('root')
if (!root) throw new Error('index.html has no #root')
createRoot(root).render(
  <StrictMode>
    {/* The policy of the controller forbids <style> elements: all styles are in files. */}
    <CSPProvider disableStyleElements>
      <QueryClientProvider client={client}>
        <Located>
          <App />
        </Located>
      </QueryClientProvider>
    </CSPProvider>
  </StrictMode>,
)
